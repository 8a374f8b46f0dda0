import assert from "node:assert/strict"
import { test } from "node:test"
import { Track } from "./track.ts"

test("a track joins the text and counts what was read", () => {
  const track = new Track()
  track.begin()
  track.read(10, 1)
  track.came({ type: "reasoning", text: "hm" }, 2)
  track.came({ type: "text", text: "He" }, 3)
  track.read(5, 4)
  track.came({ type: "text", text: "😀" }, 5)
  assert.equal(track.text, "He😀")
  assert.deepEqual(track.pieces, [{ at: 3, total: 2 }, { at: 5, total: 3 }])
  assert.deepEqual(track.reads, [{ at: 1, total: 10 }, { at: 4, total: 15 }])
  assert.equal(track.state, "running")
})

test("an error ends a track, and a stop is none", () => {
  for (const [reason, state] of [["cut", "failed"], ["stopped", "stopped"]] as const) {
    const track = new Track()
    track.begin()
    track.came({ type: "error", code: "unavailable", reason, message: "", run_id: null, partial: false }, 7)
    assert.deepEqual([track.state, track.ended, track.error?.reason], [state, 7, reason])
  }
})
