import assert from "node:assert/strict"
import { test } from "node:test"
import type { Event } from "../api/events.ts"
import { articleEvent } from "./article.ts"
import { Channel } from "./channel.ts"
import { ended } from "./ending.ts"
import { failure } from "./http.ts"
import { lines } from "./ndjson.ts"
import { serverSentEvents } from "./sse.ts"
import { decoded } from "./text.ts"

const bytes = new TextEncoder()

/** The text, cut into single bytes. */
async function* crumbs(text: string): AsyncGenerator<Uint8Array> {
  for (const byte of bytes.encode(text)) yield Uint8Array.of(byte)
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = []
  for await (const value of values) read.push(value)
  return read
}

const HOSTILE = "None a: b data: x \u2028\u2029\u0085 \ufeff<script> é 😀"

test("a line of NDJSON ends at LF and nowhere else", async () => {
  assert.deepEqual(await all(lines(crumbs(`${HOSTILE}\r\n\n{"a":1}\ncut`))), [`${HOSTILE}\r`, "", '{"a":1}'])
})

test("text has whole characters, and a BOM is one", async () => {
  assert.equal((await all(decoded(crumbs(`\ufeff${HOSTILE}\r\n`)))).join(""), `\ufeff${HOSTILE}\r\n`)
})

test("server-sent events come whole, however the bytes are cut", async () => {
  const named = `:\n\nevent: text\ndata: ${HOSTILE}\n\n`
  const events = await all(serverSentEvents(crumbs(`${named}data: a\r\ndata:\r\ndata: b\r\n\r\nevent: cut`)))
  assert.deepEqual(events.map(({ event, data }) => [event, data]), [["text", HOSTILE], [undefined, "a\n\nb"]])
})

test("the article's events without a name are text, whatever they hold", () => {
  const piece = articleEvent({ id: undefined, event: undefined, data: "event: end" }, null)
  assert.deepEqual(piece, { type: "text", text: "event: end" })
  assert.equal(articleEvent({ id: undefined, event: "end", data: "" }, "r").type, "finished")
  const error = { code: "unavailable", reason: "upstream_truncated", message: "m", run_id: "r", partial: true }
  const failed = articleEvent({ id: undefined, event: "error", data: JSON.stringify(error) }, null)
  assert.deepEqual(failed, { type: "error", ...error })
})

test("a failed status is the error that its problem tells, or says that it is not the server's", () => {
  const about = { code: "resource_exhausted", reason: "upstream_rate_limited", run_id: "r", retry_after: 2 }
  const problem = { ...about, detail: "slow", partial: false }
  assert.deepEqual(failure(429, "Too Many Requests", JSON.stringify(problem)), {
    ...about, type: "error", message: "slow", partial: false,
  })
  for (const body of ["<html>", "null", "[]", ""]) {
    const { reason, message } = failure(502, "Bad Gateway", body)
    assert.deepEqual([reason, message], ["http_502", "the server, or something before it, answered 502 Bad Gateway"])
  }
})

async function* run(events: readonly Event[], thrown?: Error): AsyncGenerator<Event> {
  yield* events
  if (thrown !== undefined) throw thrown
}

const text: Event = { type: "text", text: "a" }
const done: Event = { type: "finished", run_id: null, output: null, finish_reason: null, usage: null, attempts: null }
const ends = async (events: readonly Event[], thrown?: Error, stopped = false) => {
  const stopper = new AbortController()
  if (stopped) stopper.abort()
  const last = (await all(ended(run(events, thrown), stopper.signal))).at(-1)
  return last?.type === "error" ? [last.reason, last.partial] : last?.type
}

test("a run has one end, whatever the wire does", async () => {
  assert.equal(await ends([text, done, text, done]), "finished")
  assert.deepEqual(await ends([text]), ["cut", true])
  assert.deepEqual(await ends([]), ["cut", false])
  assert.deepEqual(await ends([], new TypeError("Failed to fetch")), ["unreachable", false])
  assert.deepEqual(await ends([text], new TypeError("network error")), ["cut", true])
  assert.deepEqual(await ends([text], new Error("AbortError"), true), ["stopped", true])
  assert.deepEqual(await ends([text], undefined, true), ["stopped", true])
})

test("what is pushed into a channel is read in its order, and then its failure", async () => {
  const channel = new Channel<number>()
  const reading = all(channel)
  channel.push(1)
  channel.push(2)
  await Promise.resolve()
  channel.push(3)
  channel.close(new Error("gone"))
  await assert.rejects(reading, /gone/)
  const closed = new Channel<number>()
  closed.push(1)
  closed.close()
  assert.deepEqual(await all(closed), [1])
})
