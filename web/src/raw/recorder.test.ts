import assert from "node:assert/strict"
import { test } from "node:test"
import { LIMIT, PARTS, Recorder } from "./recorder.ts"

function recorder(): Recorder {
  let time = 100
  return new Recorder(() => (time += 1))
}

const kept = ({ first, last }: Recorder) => [...first, ...last].reduce((sum, { bytes }) => sum + bytes.length, 0)

test("what went and came is kept with its times, as bytes", () => {
  const seen = recorder()
  seen.sent("é")
  seen.received(Uint8Array.of(0, 255))
  assert.deepEqual(seen.first, [
    { direction: "sent", at: 0, bytes: Uint8Array.of(0xc3, 0xa9), left: 0 },
    { direction: "received", at: 1, bytes: Uint8Array.of(0, 255), left: 0 },
  ])
  assert.deepEqual(seen.totals, { sent: 2, received: 2 })
})

test("of many parts the first and the last are kept", () => {
  const seen = recorder()
  for (let number = 0; number < 10 * PARTS; number += 1) seen.received(String(number))
  assert.equal(seen.first.length + seen.last.length, PARTS)
  assert.equal(seen.omitted.parts, 9 * PARTS)
  const text = (part: { bytes: Uint8Array } | undefined) => new TextDecoder().decode(part?.bytes)
  assert.deepEqual([text(seen.first[0]), text(seen.last.at(-1))], ["0", String(10 * PARTS - 1)])
  assert.equal(seen.totals.received, kept(seen) + seen.omitted.bytes)
})

test("however large the parts are, no more than the limit is kept", () => {
  const seen = recorder()
  for (let number = 0; number < 100; number += 1) seen.received(new Uint8Array(LIMIT))
  assert.ok(kept(seen) <= LIMIT)
  assert.equal(seen.totals.received, 100 * LIMIT)
  assert.equal(seen.first[0]?.left, LIMIT - LIMIT / 4)
})

test("a part of a larger buffer does not keep the buffer", () => {
  const seen = recorder()
  seen.received(new Uint8Array(1_000_000).subarray(0, 3))
  assert.equal(seen.first[0]?.bytes.buffer.byteLength, 3)
})
