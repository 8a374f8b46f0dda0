// The figures of a lane, from the marks of its track. `null` is a figure that there is not, or not yet.

import type { Mark, Track } from "./track.ts"

export interface Figures {
  /** Until the first piece of the answer, in ms. */
  readonly firstToken: number | null
  /** Between the first piece and the last. */
  readonly tokensPerSecond: number | null
  /** Between pieces, in ms. */
  readonly medianGap: number | null
  readonly longestGap: number | null
  readonly pieces: number
  readonly characters: number
  /** Those of the reply that a page can see. */
  readonly bytes: number
  /** Of the whole call, in ms. */
  readonly duration: number | null
}

/** `tokens` is how many the answer has, where that is known; a piece counts as one until then. */
export function figures(track: Track, tokens: number | null = null): Figures {
  const { pieces, reads, ended } = track
  const between = Float64Array.from(gaps(pieces)).sort()
  return {
    firstToken: pieces[0]?.at ?? null,
    tokensPerSecond: perSecond(pieces, tokens),
    medianGap: median(between),
    longestGap: between.at(-1) ?? null,
    pieces: pieces.length,
    characters: pieces.at(-1)?.total ?? 0,
    bytes: reads.at(-1)?.total ?? 0,
    duration: ended,
  }
}

/** The tokens of a lane's answer: what it was told, else what another lane was told of the same answer. */
export function tokensOf(track: Track, all: readonly Track[]): number | null {
  if (track.usage) return track.usage.output_tokens
  const same = all.find((other) => other.usage !== null && track.state === "finished" && other.text === track.text)
  return same?.usage?.output_tokens ?? null
}

/** The pauses between marks, in their order. */
export function gaps(marks: readonly Mark[]): number[] {
  return marks.slice(1).map(({ at }, index) => at - (marks[index] as Mark).at)
}

function perSecond(pieces: readonly Mark[], tokens: number | null): number | null {
  const [first, last] = [pieces[0], pieces.at(-1)]
  if (first === undefined || last === undefined || last.at <= first.at) return null
  const share = (pieces.length - 1) / pieces.length // what came with the first piece came in no time
  return ((tokens ?? pieces.length) * share * 1000) / (last.at - first.at)
}

/** Of numbers in ascending order. */
function median(sorted: Float64Array): number | null {
  if (sorted.length === 0) return null
  const half = (sorted.length - 1) / 2
  return ((sorted[Math.floor(half)] as number) + (sorted[Math.ceil(half)] as number)) / 2
}

/** How many marks came a second, in each of `count` equal parts of the time until `end`. */
export function rates(marks: readonly Mark[], end: number, count: number): number[] {
  const width = end / count
  const found = Array<number>(count).fill(0)
  for (const { at } of marks) {
    const part = Math.min(count - 1, Math.floor(at / width))
    found[part] = (found[part] as number) + 1000 / width
  }
  return found
}

/** As many of the marks as a plot can show, with the last of them. */
export function thinned(marks: readonly Mark[], most: number): readonly Mark[] {
  if (marks.length <= most) return marks
  const step = marks.length / most
  return Array.from({ length: most }, (_, index) => marks[Math.ceil((index + 1) * step) - 1] as Mark)
}
