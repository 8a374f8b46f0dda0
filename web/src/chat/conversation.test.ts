import assert from "node:assert/strict"
import { test } from "node:test"
import { after, begin } from "../answer/state.ts"
import type { Schema } from "../api/schema.ts"
import { conversationOf, inputOf, type Turn } from "./conversation.ts"

const message: Schema = {
  type: "object",
  properties: { role: { enum: ["system", "user", "assistant"], type: "string" }, content: { type: "string" } },
}
const takes = (properties: Record<string, Schema>, required: string[] = []) => {
  const input: Schema = { type: "object", properties, required, $defs: { Message: message } }
  return conversationOf({ name: "f", description: "", output: {}, input })
}
const messages: Schema = { type: "array", items: { $ref: "#/$defs/Message" } }

const turn = (said: string, text: string): Turn => {
  const begun = begin(0)
  return { said, answer: text === "" ? begun : after(begun, { type: "text", text }, 1) }
}

test("a function takes a conversation by its messages, with or without a text of its own", () => {
  const both = takes({ history: messages, message: { type: "string" } }, ["message"])
  assert.deepEqual(both, { history: "history", message: "message" })
  assert.deepEqual(takes({ messages }, ["messages"]), { history: "messages", message: null })
})

test("other functions take none", () => {
  assert.equal(takes({ text: { type: "string" } }, ["text"]), null)
  assert.equal(takes({ tags: { type: "array", items: { type: "string" } } }), null)
  assert.equal(takes({ messages, a: { type: "string" }, b: { type: "string" } }, ["a", "b"]), null)
})

test("what was said before goes with what is said now; a turn without an answer is left out", () => {
  const turns = [turn("hi", "hello"), turn("lost", "")]
  const before = [{ role: "user", content: "hi" }, { role: "assistant", content: "hello" }]
  assert.deepEqual(inputOf({ history: "h", message: "m" }, turns, "now"), { h: before, m: "now" })
  const all = [...before, { role: "user", content: "now" }]
  assert.deepEqual(inputOf({ history: "h", message: null }, turns, "now"), { h: all })
})
