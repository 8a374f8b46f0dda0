import assert from "node:assert/strict"
import { test } from "node:test"
import { after, begin } from "../answer/state.ts"
import type { FunctionInfo } from "../api/functions.ts"
import type { Schema } from "../api/schema.ts"
import { emptyDraft } from "../form/draft.ts"
import { objectField, settingsField } from "../form/settings.ts"
import { callOf, turnOf } from "./call.ts"

const MESSAGES: Schema = { type: "array", items: { type: "object", properties: { content: { type: "string" } } } }
const settings = emptyDraft(settingsField, true)

function functionOf(properties: Record<string, Schema>, required: string[]): FunctionInfo {
  return { name: "f", description: "", input: { type: "object", properties, required }, output: { type: "string" } }
}

test("a call has its input, its prompt and its settings, and nothing that was not given", () => {
  const info = functionOf({ text: { type: "string" }, more: { type: "integer", default: 3 } }, ["text"])
  const field = objectField(info.input)
  assert.deepEqual(callOf(info, field, { input: { text: "hi", more: "" }, settings }).call, {
    function: "f", input: { text: "hi" }, prompt: "hi",
  })
  const chosen = { max_tokens: "5", temperature: "0", seed: "", timeout: "1.5", user: "u" }
  assert.deepEqual(callOf(info, field, { input: { text: "hi", more: "4" }, settings: chosen }).call, {
    function: "f", input: { text: "hi", more: 4 }, prompt: "hi", settings: { max_tokens: 5, temperature: 0 },
    timeout: 1.5, user: "u",
  })
})

test("what is wrong is told with the part of the form that it is in", () => {
  const info = functionOf({ text: { type: "string" } }, ["text"])
  const wrong = { max_tokens: "0", temperature: "3", seed: "", timeout: "0", user: "" }
  const { problems } = callOf(info, objectField(info.input), { input: { text: "" }, settings: wrong })
  assert.deepEqual(problems.map(({ path }) => path), [
    "input.text", "settings.max_tokens", "settings.temperature", "settings.timeout",
  ])
})

test("a turn holds what was said before, and only what is wrong besides", () => {
  const turns = [{ said: "hi", answer: after(begin(0), { type: "text", text: "hello" }, 1) }]
  const before = [{ role: "user", content: "hi" }, { role: "assistant", content: "hello" }]
  const history = { ...MESSAGES, minItems: 9 }
  const both = functionOf({ message: { type: "string" }, history }, ["message", "history"])
  const made = callOf(both, objectField(both.input), { input: { message: "now", history: [] }, settings })
  assert.deepEqual(made.problems.map(({ path }) => path), ["input.history"])
  const turn = turnOf(made, both, { history: "history", message: "message" }, turns, "now")
  assert.deepEqual([turn.call.input, turn.problems], [{ message: "now", history: before }, []])

  const lone = functionOf({ messages: MESSAGES }, ["messages"])
  const form = callOf(lone, objectField(lone.input), { input: { messages: [] }, settings })
  const parameters = { history: "messages", message: null }
  const { input } = turnOf(form, lone, parameters, turns, "now").call
  assert.deepEqual(input, { messages: [...before, { role: "user", content: "now" }] })
  assert.deepEqual(turnOf(form, lone, parameters, turns, "").problems, [{ path: "input.message", message: "Needed" }])
})
