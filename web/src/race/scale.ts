// From figures to places in a plot that is `WIDTH` wide and `HEIGHT` high, whatever size it is shown in.

import type { Mark } from "./track.ts"

export const WIDTH = 1000
export const HEIGHT = 24

export interface Tick {
  /** From 0 to `WIDTH`. */
  readonly place: number
  readonly words: string
}

const ROUND = [1, 1.5, 2, 3, 4, 5, 6, 8, 10]

/** The next of these with noughts that is not below the value. */
export function roundUp(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  const factor = ROUND.find((factor) => factor * power >= value) ?? 10
  return Number((factor * power).toPrecision(3)) // without the crumbs of binary fractions
}

const words = (value: number): string => String(Number(value.toPrecision(3)))

/** In milliseconds below one second, else in seconds. */
export function duration(ms: number): string {
  return ms < 1000 ? `${words(ms)} ms` : `${words(ms / 1000)} s`
}

/** Nought, half, and the whole of it. */
export function linear(end: number): Tick[] {
  return [0, 0.5, 1].map((part) => ({ place: part * WIDTH, words: part === 0 ? "0" : duration(part * end) }))
}

const SHORTEST = -1 // as powers of ten of a millisecond: from 0.1 ms to 10 s
const LONGEST = 4

/** The place of a gap on a scale of which each step is ten times the one before. */
export function logarithmic(ms: number): number {
  const power = Math.log10(Math.max(ms, 1e-9))
  const part = (power - SHORTEST) / (LONGEST - SHORTEST)
  return Math.round(Math.min(1, Math.max(0, part)) * WIDTH)
}

export const GAP_TICKS: readonly Tick[] = [0.1, 1, 10, 100, 1000, 10_000].map((ms) => ({
  place: logarithmic(ms),
  words: ms < 1000 ? `${ms} ms` : `${ms / 1000} s`,
}))

/** A short line at each gap. */
export function rug(gaps: readonly number[]): string {
  const places = new Set(gaps.map(logarithmic))
  return Array.from(places, (place) => `M${place} 4V${HEIGHT - 4}`).join("")
}

/** What grew, in steps: the time until `end` from left to right. */
export function steps(marks: readonly Mark[], end: number, most: number): string {
  const across = (at: number): string => ((Math.min(at, end) / end) * WIDTH).toFixed(1)
  const up = (total: number): string => (HEIGHT - 2 - (total / most) * (HEIGHT - 4)).toFixed(1)
  return `M0 ${up(0)}${marks.map(({ at, total }) => `H${across(at)}V${up(total)}`).join("")}`
}

/** Bars side by side, as one outline from the base. */
export function skyline(values: readonly number[], most: number): string {
  const width = WIDTH / values.length
  const up = (value: number): string => (HEIGHT - (value / most) * (HEIGHT - 2)).toFixed(1)
  return `M0 ${HEIGHT}${values.map((value, index) => `V${up(value)}H${((index + 1) * width).toFixed(1)}`).join("")}V${HEIGHT}Z`
}
