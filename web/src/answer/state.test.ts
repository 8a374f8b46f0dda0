import assert from "node:assert/strict"
import { test } from "node:test"
import type { Event } from "../api/events.ts"
import { after, begin, figuresOf, stateOf } from "./state.ts"

const started: Event = {
  type: "started", run_id: "r", function: "f", variant: "b", model: "openai:m", max_tokens: null, timeout: 300,
}
const events: readonly Event[] = [
  started,
  { type: "reasoning", text: "hm" },
  { type: "text", text: "Hel" },
  { type: "text", text: "lo" },
  {
    type: "finished", run_id: "r", output: null, finish_reason: "stop", usage: { input_tokens: 9, output_tokens: 2 },
    attempts: 2,
  },
]

test("an answer is what its events say, each at its time", () => {
  const stages = events.map((_, count) =>
    events.slice(0, count + 1).reduce((answer, event, at) => after(answer, event, 10 * at), begin(-100)))
  assert.deepEqual(stages.map(stateOf), [
    "Waiting for the first piece …",
    "The answer is arriving …",
    "The answer is arriving …",
    "The answer is arriving …",
    "Complete",
  ])
  const whole = stages.at(-1) ?? begin(0)
  assert.deepEqual([whole.text, whole.reasoning], ["Hello", "hm"])
  assert.deepEqual(Object.fromEntries(figuresOf(whole)), {
    "finish reason": "stop", model: "openai:m", variant: "b", "tokens in": "9", "tokens out": "2", attempts: "2",
    "first piece": "110 ms", whole: "140 ms", pieces: "3", "run id": "r",
  })
})

test("what a wire does not tell is not shown", () => {
  const bare: Event = { type: "finished", run_id: null, output: null, finish_reason: null, usage: null, attempts: null }
  const answer = after(after(begin(0), { type: "text", text: "x" }, 1), bare, 2)
  assert.deepEqual(figuresOf(answer).map(([name]) => name), ["first piece", "whole", "pieces"])
})
