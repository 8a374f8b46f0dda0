import assert from "node:assert/strict"
import { test } from "node:test"
import { duration, GAP_TICKS, linear, logarithmic, roundUp, rug, skyline, steps } from "./scale.ts"

test("an axis ends at a round number that nothing exceeds", () => {
  assert.deepEqual([0, 0.25, 1, 1.1, 2, 49, 51, 999, 1001].map(roundUp), [1, 0.3, 1, 1.5, 2, 50, 60, 1000, 1500])
})

test("times are in the unit that one reads", () => {
  assert.deepEqual([0.5, 500, 1500, 2000].map(duration), ["0.5 ms", "500 ms", "1.5 s", "2 s"])
  assert.deepEqual(linear(200).map(({ words }) => words), ["0", "100 ms", "200 ms"])
})

test("gaps from a tenth of a millisecond to ten seconds have their places, others the outermost", () => {
  assert.deepEqual([0, 0.1, 1, 10, 10_000, 60_000].map(logarithmic), [0, 0, 200, 400, 1000, 1000])
  assert.equal(GAP_TICKS.at(-1)?.words, "10 s")
  assert.equal(rug([10, 10, 1]), "M400 4V20M200 4V20")
})

test("what grew goes up in steps, within the plot", () => {
  assert.equal(steps([{ at: 50, total: 1 }, { at: 120, total: 2 }], 100, 2), "M0 22.0H500.0V12.0H1000.0V2.0")
})

test("bars stand on the base", () => {
  assert.equal(skyline([1, 2], 2), "M0 24V13.0H500.0V2.0H1000.0V24Z")
})
