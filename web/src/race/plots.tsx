// The live plots: four of them, with a row for each lane. What a plot shows is also there in words and in the table.

import type { ReactNode } from "react"
import { gaps, rates, thinned } from "./figures.ts"
import type { Lane } from "./run.ts"
import { GAP_TICKS, HEIGHT, WIDTH, duration, linear, roundUp, rug, skyline, steps, type Tick } from "./scale.ts"
import { milliseconds, perSecond, whole, type Row } from "./table.ts"

const MOST = 300 // steps of a line: more could not be seen
const PARTS = 40 // of the time, for rates

interface Line {
  readonly name: string
  readonly failed: boolean
  readonly drawn: ReactNode
  readonly value: string
}

/** The rows are those of the lanes, in their order. */
export function Plots({ lanes, rows }: { lanes: readonly Lane[]; rows: readonly Row[] }) {
  const all = lanes.map((lane, index) => ({ lane, row: rows[index] as Row }))
  const end = roundUp(Math.max(1, ...lanes.map(({ elapsed }) => elapsed)))
  const latest = roundUp(Math.max(1, ...rows.map(({ figures }) => figures.firstToken ?? 0)))
  const most = Math.max(1, ...rows.map(({ figures }) => figures.bytes))
  const speeds = all.map(({ lane, row: { tokens, figures } }) => {
    const each = tokens !== null && figures.pieces > 0 ? tokens / figures.pieces : 1
    return rates(lane.track.pieces, end, PARTS).map((rate) => rate * each)
  })
  const fastest = Math.max(1, ...speeds.flat())

  const lines = (draw: (one: (typeof all)[number], index: number) => Pick<Line, "drawn" | "value">): Line[] =>
    all.map((one, index) => ({
      name: one.row.name, failed: one.row.state === "failed", ...draw(one, index),
    }))

  return (
    <div className="plots">
      <Plot title="Time to first token" ticks={linear(latest)} lines={lines(({ row: { figures } }) => ({
        drawn: <rect y="6" height={HEIGHT - 12} width={((figures.firstToken ?? 0) / latest) * WIDTH} className="bar" />,
        value: unit(milliseconds(figures.firstToken), "ms"),
      }))} />
      <Plot title="Tokens per second, as time goes" ticks={linear(end)} lines={lines(({ row: { figures } }, index) => ({
        drawn: <path d={skyline(speeds[index] as number[], fastest)} className="area" />,
        value: unit(perSecond(figures.tokensPerSecond), "/s"),
      }))} />
      <Plot title="Gaps between pieces" ticks={GAP_TICKS} lines={lines(({ lane, row: { figures } }) => ({
        drawn: <path d={rug(gaps(lane.track.pieces))} className="line" />,
        value: unit(milliseconds(figures.medianGap), "ms"),
      }))} />
      <Plot title="Bytes received, as time goes" ticks={linear(end)} lines={lines(({ lane, row: { figures } }) => ({
        drawn: <path d={steps(thinned(lane.track.reads, MOST), end, most)} className="line" />,
        value: unit(whole(figures.bytes), "B"),
      }))} />
      <p className="faint plots-note">
        The values at the right: the time, the mean speed, the median gap, and all bytes. Until a lane is told its tokens, a
        piece counts as one. All of it is measured in this page, which draws at the same time. Time axes end
        at {duration(end)}.
      </p>
    </div>
  )
}

const unit = (value: string, name: string): string => (value === "–" ? value : `${value} ${name}`)

function Plot({ title, ticks, lines }: { title: string; ticks: readonly Tick[]; lines: readonly Line[] }) {
  return (
    <figure className="plot">
      <figcaption>{title}</figcaption>
      <ul>
        {lines.map(({ name, failed, drawn, value }) => (
          <li key={name} className={failed ? "failed" : undefined}>
            <span className="plot-name">{name}</span>
            <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
              {ticks.map(({ place }) => <path key={place} d={`M${place} 0V${HEIGHT}`} className="grid" />)}
              {drawn}
            </svg>
            <span className="plot-value">{value}</span>
          </li>
        ))}
      </ul>
      <div className="plot-axis" aria-hidden="true">
        <span className="plot-name" />
        <span className="plot-ticks">
          {ticks.map(({ place, words }) => <span key={place} style={{ left: `${(place / WIDTH) * 100}%` }}>{words}</span>)}
        </span>
        <span className="plot-value" />
      </div>
    </figure>
  )
}
