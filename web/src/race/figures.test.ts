import assert from "node:assert/strict"
import { test } from "node:test"
import { figures, gaps, rates, thinned, tokensOf } from "./figures.ts"
import { Track } from "./track.ts"

function track(text: string, ...times: number[]): Track {
  const track = new Track()
  track.begin()
  for (const at of times) track.came({ type: "text", text }, at)
  return track
}

const finished = (output_tokens: number | null) => ({
  type: "finished" as const, run_id: null, output: null, finish_reason: null, attempts: null,
  usage: output_tokens === null ? null : { input_tokens: 1, output_tokens },
})

test("the figures are those of the marks", () => {
  const lane = track("ab", 100, 110, 140, 160)
  lane.read(50, 99)
  lane.read(7, 100)
  lane.came(finished(8), 200)
  assert.deepEqual(figures(lane, 8), {
    firstToken: 100, tokensPerSecond: 100, medianGap: 20, longestGap: 30,
    pieces: 4, characters: 8, bytes: 57, duration: 200,
  })
})

test("what has not come yet is no figure", () => {
  const none = { firstToken: null, tokensPerSecond: null, medianGap: null, longestGap: null }
  const zero = { pieces: 0, characters: 0, bytes: 0, duration: null }
  assert.deepEqual(figures(track("a")), { ...none, ...zero })
  assert.deepEqual(figures(track("a", 5)), { ...none, ...zero, firstToken: 5, pieces: 1, characters: 1 })
  assert.equal(figures(track("a", 5, 5)).tokensPerSecond, null) // all at once is no speed
})

test("until the tokens are known, a piece counts as one", () => {
  assert.equal(figures(track("a", 0, 500, 1000)).tokensPerSecond, 2)
})

test("a lane that is not told its tokens has those of an equal answer", () => {
  const [told, untold, other] = [track("ab", 1), track("ab", 1), track("x", 1)]
  told.came(finished(3), 2)
  for (const lane of [untold, other]) lane.came(finished(null), 2)
  const all = [told, untold, other]
  assert.deepEqual(all.map((lane) => tokensOf(lane, all)), [3, 3, null])
})

test("an even count of gaps has the middle of the two middle ones", () => {
  assert.deepEqual(gaps(track("a", 0, 10, 40).pieces), [10, 30])
  assert.equal(figures(track("a", 0, 10, 40)).medianGap, 20)
})

test("rates are of equal parts of the time, and each mark is in one", () => {
  assert.deepEqual(rates(track("a", 0, 10, 99, 100).pieces, 100, 2), [40, 40])
})

test("a plot has the last mark, however few it has", () => {
  const marks = track("a", ...Array.from({ length: 1001 }, (_, at) => at)).pieces
  const few = thinned(marks, 300)
  assert.equal(few.length, 300)
  assert.equal(few.at(-1), marks.at(-1))
  assert.equal(thinned(few, 300), few)
})
