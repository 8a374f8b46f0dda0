import assert from "node:assert/strict"
import { test } from "node:test"
import { jsonText, literal, shellWord, stringLiteral, type Language } from "./literals.ts"

const LANGUAGES: readonly Language[] = ["python", "typescript", "php", "go", "ruby"]
const HOSTILE = "\"\\ $a ${a} #{a}\n\r\t\0\u007f\u0085\u2028\u202e\ufeff\u{e0041} é 😀 \ud800"

test("what a language would read within a string is told not to be", () => {
  assert.deepEqual(
    LANGUAGES.map((language) => stringLiteral(`"\\$#{`, language)),
    [`"\\"\\\\$#{"`, `"\\"\\\\$#{"`, `"\\"\\\\\\$#{"`, `"\\"\\\\$#{"`, `"\\"\\\\$\\#{"`],
  )
})

test("nothing that cannot be seen is in a literal", () => {
  for (const language of LANGUAGES) {
    const written = literal({ [HOSTILE]: HOSTILE }, language)
    assert.doesNotMatch(written, /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u2028\u202e\ufeff]|[\u{e0000}-\u{e0fff}]|\p{Cs}/u)
    assert.match(written, /é 😀/)
  }
})

test("a string in TypeScript is what JavaScript reads", () => {
  assert.equal(JSON.parse(stringLiteral(HOSTILE, "typescript").replace("\\u{e0041}", "\\udb40\\udc41")), HOSTILE.replace("\ud800", "\ufffd"))
})

test("JSON text with numbers for what cannot be seen is the same JSON", () => {
  const value = { [HOSTILE]: [HOSTILE, null, 1e21, -0.5] }
  assert.deepEqual(JSON.parse(jsonText(value)), value)
})

test("a word of the shell ends at no quote of its own", () => {
  assert.equal(shellWord("it's"), `'it'\\''s'`)
})

test("what is short stands on one line, what is long on many", () => {
  const short = { input: { message: "hi" }, user: undefined }
  assert.deepEqual(
    LANGUAGES.map((language) => literal(short, language)),
    [
      `{"input": {"message": "hi"}}`,
      `{ input: { message: "hi" } }`,
      `["input" => ["message" => "hi"]]`,
      `map[string]any{"input": map[string]any{"message": "hi"}}`,
      `{ input: { message: "hi" } }`,
    ],
  )
  const long = "x".repeat(100)
  assert.equal(literal({ a: [long], b: {} }, "ruby"), `{\n  a: [\n    "${long}"\n  ],\n  b: {}\n}`)
  assert.equal(literal({ a: [long] }, "python", 1), `{\n        "a": [\n            "${long}",\n        ],\n    }`)
})

test("an object of PHP stays one where an array would become a list", () => {
  assert.equal(literal({ a: {}, b: { 0: 1, 1: 2 }, c: { 1: 1 } }, "php"), `["a" => (object) [], "b" => (object) ["0" => 1, "1" => 2], "c" => ["1" => 1]]`)
})

test("a member called __proto__ is a member in TypeScript", () => {
  assert.equal(literal(JSON.parse(`{"__proto__": 1}`), "typescript"), `{ ["__proto__"]: 1 }`)
})
