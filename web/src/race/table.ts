// The figures of a race as a table, to be shown and to be copied.

import { figures, tokensOf, type Figures } from "./figures.ts"
import type { Lane } from "./run.ts"
import type { State } from "./track.ts"

export interface Row {
  readonly name: string
  readonly state: State
  /** Of the answer, where they are known. */
  readonly tokens: number | null
  readonly figures: Figures
}

export function rowsOf(lanes: readonly Lane[]): Row[] {
  const tracks = lanes.map(({ track }) => track)
  return lanes.map(({ wire, track }) => {
    const tokens = tokensOf(track, tracks)
    return { name: wire.name, state: track.state, tokens, figures: figures(track, tokens) }
  })
}

export interface Column {
  readonly title: string
  /** What the title means, in words. */
  readonly meaning: string
  readonly cell: (row: Row) => string
}

const NONE = "–"
const number = (value: number | null, digits: number): string =>
  value === null
    ? NONE
    : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })

/** Milliseconds, with as many digits as one can read. */
export const milliseconds = (value: number | null): string => number(value, value !== null && value < 10 ? 1 : 0)
export const perSecond = (value: number | null): string => number(value, value !== null && value < 100 ? 1 : 0)
export const whole = (value: number | null): string => number(value, 0)

export const columns: readonly Column[] = [
  { title: "First token, ms", meaning: "from the call to the first piece of the answer", cell: ({ figures }) => milliseconds(figures.firstToken) },
  { title: "Tokens/s", meaning: "from the first piece to the last", cell: ({ figures }) => perSecond(figures.tokensPerSecond) },
  { title: "Median gap, ms", meaning: "between one piece and the next", cell: ({ figures }) => milliseconds(figures.medianGap) },
  { title: "Longest gap, ms", meaning: "between one piece and the next", cell: ({ figures }) => milliseconds(figures.longestGap) },
  { title: "Pieces", meaning: "of the answer, as they came", cell: ({ figures }) => whole(figures.pieces) },
  { title: "Characters", meaning: "of the answer", cell: ({ figures }) => whole(figures.characters) },
  { title: "Bytes", meaning: "of the reply, as far as a page can see it", cell: ({ figures }) => whole(figures.bytes) },
  { title: "Total, ms", meaning: "the whole call", cell: ({ figures }) => milliseconds(figures.duration) },
]

/** In Markdown, which is readable as it stands too. */
export function markdown(rows: readonly Row[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`
  const head = ["Wire", ...columns.map(({ title }) => title), "End"]
  const rule = ["---", ...columns.map(() => "---:"), "---"]
  const body = rows.map((row) => [row.name, ...columns.map(({ cell }) => cell(row)), row.state])
  return `${[head, rule, ...body].map(line).join("\n")}\n`
}
