import assert from "node:assert/strict"
import { test } from "node:test"
import type { Event } from "../api/events.ts"
import type { Wire, WireId } from "../wires/wire.ts"
import { Running } from "./run.ts"

const END: Event = { type: "finished", run_id: null, output: null, finish_reason: "stop", usage: null, attempts: 1 }
const CALL = { function: "chat", input: { message: "hi" } }

function wire(id: WireId, run: Wire["run"]): Wire {
  return { id, name: id, takes: "http", article: false, run }
}

function clock(): () => number {
  let time = 1000
  return () => (time += 1)
}

test("each lane has the times of its own call, and its bytes", async () => {
  const running = new Running(
    [wire("sse", async function* (call, _signal, tap) {
      assert.equal(call, CALL)
      tap.sent("not counted")
      tap.received("é")
      yield { type: "text", text: "Hi" }
      tap.received(new Uint8Array(3))
      yield END
    })],
    clock(),
  )
  await running.start(CALL, true)
  const [{ track }] = running.lanes as [(typeof running.lanes)[0]]
  assert.deepEqual(track.reads, [{ at: 1, total: 2 }, { at: 3, total: 5 }])
  assert.deepEqual(track.pieces, [{ at: 2, total: 2 }])
  assert.deepEqual([track.state, track.ended, running.over], ["finished", 4, true])
})

test("a stop reaches what runs, and what waits is not begun", async () => {
  const running: Running = new Running([
    wire("sse", async function* (_call, signal) {
      running.stop()
      assert.ok(signal.aborted)
      yield { type: "error", code: "canceled", reason: "stopped", message: "", run_id: null, partial: false }
    }),
    wire("ndjson", async function* () {
      assert.fail("it was begun")
    }),
  ])
  await running.start(CALL, false)
  assert.deepEqual(running.lanes.map(({ track }) => track.state), ["stopped", "stopped"])
})
