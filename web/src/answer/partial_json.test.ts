import assert from "node:assert/strict"
import { test } from "node:test"
import { partialJson } from "./partial_json.ts"

const CASES: readonly (readonly [string, unknown])[] = [
  ['{"a": 1, "b"', { a: 1 }],
  ['{"a": 1, "b":', { a: 1 }],
  ['{"a": 12', {}],
  ['{"a": tru', {}],
  ['{"a": true', { a: true }],
  ['["x", "y', ["x", "y"]],
  ['["x\\', ["x"]],
  ['["x\\\\', ["x\\"]],
  ['["x\\u00', ["x"]],
  ['["x\\n', ["x\n"]],
  ['{"items": [{"name": "lamp", "price": 3}, {"na', { items: [{ name: "lamp", price: 3 }, {}] }],
  ['[1, 2,', [1, 2]],
  ['["a\u2028b', ["a\u2028b"]],
  ['{"__proto__": {"x": 1}', JSON.parse('{"__proto__": {"x": 1}}')],
]

for (const [text, value] of CASES) {
  test(`of ${JSON.stringify(text)} there is ${JSON.stringify(value)}`, () => {
    assert.deepEqual(partialJson(text), { value, complete: false })
  })
}

for (const text of ["", "  ", "Kettle.", "{a", "[1 2", "{1", '{"a" 1', "[,", "-", '["\n', "[".repeat(100_000)]) {
  test(`${JSON.stringify(text.slice(0, 20))} is nothing to show`, () => {
    assert.equal(partialJson(text), null)
  })
}

test("however it is cut, what is shown grows to the whole, and nothing is thrown", () => {
  const whole = '{"a": [1, -2.5e3, "x\\"\\u00e9\\\\", {"b": null, "c": [[], {}]}], "d": false}'
  for (let length = 0; length < whole.length; length++) {
    const come = partialJson(whole.slice(0, length))
    assert.ok(come === null ? length < 1 : !come.complete)
  }
  assert.deepEqual(partialJson(`${whole}\n`), { value: JSON.parse(whole), complete: true })
})
