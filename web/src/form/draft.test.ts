import assert from "node:assert/strict"
import { test } from "node:test"
import type { Schema } from "../api/schema.ts"
import { Alternative, emptyDraft, givenDraft, problemsIn, revived, valueOf, type Draft } from "./draft.ts"
import { fieldOf } from "./field.ts"

const schema: Schema = {
  type: "object",
  $defs: {
    Part: {
      type: "object",
      title: "Part",
      properties: {
        count: { type: "integer", minimum: 1, maximum: 5 },
        parts: { type: "array", items: { $ref: "#/$defs/Part" }, default: [] },
      },
      required: ["count"],
    },
    Kind: { type: "string", enum: ["new", "used"] },
  },
  properties: {
    text: { type: "string", minLength: 2 },
    part: { $ref: "#/$defs/Part" },
    kind: { $ref: "#/$defs/Kind" },
    tags: { type: "array", items: { type: "string" }, maxItems: 2 },
    loud: { type: "boolean", default: true },
    when: { anyOf: [{ type: "string", format: "date" }, { type: "null" }], default: null },
    either: { anyOf: [{ type: "integer" }, { type: "string" }], default: 3 },
    counts: { type: "object", additionalProperties: { type: "integer" }, default: {} },
  },
  required: ["text", "part", "kind", "tags"],
}
const field = fieldOf(schema)
const empty = emptyDraft(field, true) as Record<string, Draft>
const filled = (more: Record<string, Draft> = {}): Draft =>
  ({ ...empty, text: "hello", part: { count: "2", parts: [] }, ...more })

test("an empty form asks for what is required, and for nothing else", () => {
  assert.deepEqual(valueOf(field, emptyDraft(field, true), true, "input").problems, [
    { path: "input.text", message: "Needed" },
    { path: "input.part.count", message: "Needed" },
  ])
})

test("what is not given is not sent", () => {
  assert.deepEqual(valueOf(field, filled(), true), {
    value: { text: "hello", part: { count: 2 }, kind: "new", tags: [], loud: true },
    problems: [],
  })
})

test("nested lists, unions and JSON become values", () => {
  const draft = filled({
    part: { count: "1", parts: [{ count: "5", parts: [] }] },
    kind: '"used"',
    tags: ["a", "b"],
    either: new Alternative(1, "three"),
    counts: '{"a": 1}',
    when: "2026-01-01",
  })
  assert.deepEqual(valueOf(field, draft, true), {
    value: {
      text: "hello",
      part: { count: 1, parts: [{ count: 5 }] },
      kind: "used",
      tags: ["a", "b"],
      loud: true,
      when: "2026-01-01",
      either: "three",
      counts: { a: 1 },
    },
    problems: [],
  })
})

test("each problem is told with the path of its field", () => {
  const part = { count: "9", parts: [{ count: "1.5", parts: [] }] }
  const draft = filled({ text: "😀", part, tags: ["a", "b", "c"], counts: "{" })
  const { problems } = valueOf(field, draft, true, "input")
  assert.deepEqual(
    problems.map(({ path }) => path),
    ["input.text", "input.part.count", "input.part.parts.0.count", "input.tags", "input.counts"],
  )
  assert.deepEqual(problems[2]?.message, "A whole number")
})

for (const text of ["", " ", "1e999", "0x", "one", "NaN"]) {
  test(`${JSON.stringify(text)} is no number`, () => {
    assert.equal(valueOf(fieldOf({ type: "number" }), text, true).problems.length, 1)
  })
}

test("a whole number that a browser would change is not sent", () => {
  const whole = fieldOf({ type: "integer" })
  assert.equal(valueOf(whole, "9007199254740993", true).problems.length, 1)
  assert.deepEqual(valueOf(whole, "-9007199254740991", true).value, -9007199254740991)
})

test("a draft that was kept is what it was", () => {
  const draft = filled({ either: new Alternative(1, "three"), tags: ["x"], kind: '"used"', loud: false })
  assert.deepEqual(revived(field, JSON.parse(JSON.stringify(draft)), true), draft)
})

for (const kept of [null, 5, "x", [], { text: 5, part: [], tags: "a", either: { "@at": 9 }, kind: '"gone"' }]) {
  test(`of ${JSON.stringify(kept)}, kept for another schema, what fits is taken`, () => {
    assert.deepEqual(revived(field, kept, true), emptyDraft(field, true))
  })
}

test("a schema that names itself does not hang, and one without end is JSON", () => {
  const loop: Schema = { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } }
  assert.equal(fieldOf(loop).kind, "json")
})

test("a server's words about the input are told beside their fields", () => {
  const said = "input.message: Field required; input.part.0.count: Input should be 1; or more"
  assert.deepEqual(problemsIn(said), [
    { path: "input.message", message: "Field required" },
    { path: "input.part.0.count", message: "Input should be 1; or more" },
  ])
  assert.deepEqual(problemsIn("the provider answered 400: input too long"), [])
})

/** The input of a function whose one parameter, `of`, is of this type. */
const input = (of: Schema, $defs: Record<string, Schema>): Schema =>
  ({ type: "object", $defs, properties: { of }, required: ["of"] })

test("a type that holds itself is laid out as far as it must be", () => {
  const node: Schema = {
    type: "object",
    properties: { next: { anyOf: [{ $ref: "#/$defs/Node" }, { type: "null" }] } },
    required: ["next"],
  }
  const chain = fieldOf(input({ $ref: "#/$defs/Node" }, { Node: node }))
  assert.deepEqual(valueOf(chain, emptyDraft(chain, true), true), { value: { of: { next: null } }, problems: [] })

  const either: Schema = { anyOf: [{ $ref: "#/$defs/Add" }, { $ref: "#/$defs/Num" }] }
  const add: Schema = { type: "object", properties: { left: either, right: either }, required: ["left", "right"] }
  const num: Schema = { type: "object", properties: { value: { type: "integer" } }, required: ["value"] }
  const term = fieldOf(input(either, { Add: add, Num: num }))
  assert.deepEqual(emptyDraft(term, true), { of: new Alternative(1, { value: "" }) })

  const endless: Schema = { type: "object", properties: { next: { $ref: "#/$defs/Node" } }, required: ["next"] }
  const never = fieldOf(input({ $ref: "#/$defs/Node" }, { Node: endless }))
  assert.match(valueOf(never, emptyDraft(never, true), true).problems[0]?.message ?? "", /Needed/)
})

test("what may be null is given when it is asked for", () => {
  const point: Schema = { type: "object", properties: { x: { type: "integer" } }, required: ["x"] }
  const field = fieldOf({ anyOf: [point, { type: "null" }] })
  assert.equal(emptyDraft(field, true), null)
  assert.deepEqual(givenDraft(field), { x: "" })
})
