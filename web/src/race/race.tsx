// The same call on many wires: lanes side by side, their figures as they grow, and a word on whether all answers are equal.

import { useEffect, useRef, useState, useSyncExternalStore } from "react"
import { CopyButton } from "../answer/copy.tsx"
import type { Call, Wire } from "../wires/wire.ts"
import { Plots } from "./plots.tsx"
import type { Lane, Running } from "./run.ts"
import { HTTP_AT_ONCE } from "./schedule.ts"
import { columns, markdown, milliseconds, perSecond, rowsOf, type Row } from "./table.ts"
import type { RaceState } from "./use_race.ts"
import { verdict } from "./verdict.ts"
import "./race.css"

interface Props {
  /** `null` while there is nothing to call, because the form is not filled in. */
  readonly call: Call | null
  /** Those that the function can be called on. */
  readonly wires: readonly Wire[]
  /** Whether the function's model is a scripted one, which has room for many calls at once. */
  readonly scripted: boolean
  readonly race: RaceState
}

export function Race({ call, wires, scripted, race: { running, start } }: Props) {
  const [left, leave] = useState<ReadonlySet<string>>(new Set())
  useShown(running)

  const chosen = wires.filter(({ id }) => !left.has(id))
  const under = running !== null && !running.over
  const toggle = (id: string) => leave(new Set(left.has(id) ? [...left].filter((other) => other !== id) : [...left, id]))

  return (
    <section className="race" aria-label="Race">
      <p className="faint">{scripted ? TOGETHER : ONE_BY_ONE}</p>
      <fieldset className="race-choice" disabled={under}>
        <legend>Lanes</legend>
        {wires.map(({ id, name }) => (
          <label key={id} className="chip">
            <input type="checkbox" checked={!left.has(id)} onChange={() => toggle(id)} /> {name}
          </label>
        ))}
      </fieldset>
      <p className="race-start">
        {under ? (
          <button type="button" className="stop" onClick={() => running.stop()}>Stop the race <kbd>Esc</kbd></button>
        ) : (
          <button type="button" className="run" disabled={call === null || chosen.length === 0}
            onClick={() => call !== null && start(call, chosen, scripted)}>
            Race {chosen.length} {chosen.length === 1 ? "lane" : "lanes"}
          </button>
        )}
        {call === null && <span className="faint"> Fill in the form first.</span>}
      </p>
      <div role="status" className="race-verdict">{running !== null && <Word lanes={running.lanes} />}</div>
      {running !== null && <Shown lanes={running.lanes} />}
    </section>
  )
}

const TOGETHER =
  `The lanes run at once: this model is a scripted one. Of those over HTTP at most ${HTTP_AT_ONCE} run at a time, because a ` +
  "browser opens six HTTP/1.1 connections to a host, and a lane that waits for one would seem slow."

const ONE_BY_ONE =
  "The lanes run one after another: a real model has room for few calls, and lanes would wait for each other there. Each is a " +
  "call of its own, and costs what a call costs. The answers may differ, and come sooner where the model has read the same " +
  "prompt before: the first lane has it hardest. On a scripted model all lanes run at once."

/** Show what has changed meanwhile. */
function useShown(running: Running | null): void {
  useSyncExternalStore(running?.changes.subscribe ?? never, running?.changes.version ?? nought)
}

const never = () => () => {}
const nought = () => 0

function Word({ lanes }: { lanes: readonly Lane[] }) {
  const word = verdict(lanes.map(({ wire, track }) => ({
    name: wire.name, state: track.state, text: track.text, plainLines: wire.article,
  })))
  if (word === null) return <p>The race is on.</p>
  return <p className={`verdict ${word.kind}`}>{MARKS[word.kind]} {word.words}</p>
}

const MARKS = { equal: "✓", different: "✗", incomplete: "!" } as const

function Shown({ lanes }: { lanes: readonly Lane[] }) {
  const rows = rowsOf(lanes)
  return (
    <>
      <ol className="lanes" aria-label="Lanes">
        {lanes.map((lane, index) => <OneLane key={lane.wire.id} lane={lane} row={rows[index] as Row} />)}
      </ol>
      <Plots lanes={lanes} rows={rows} />
      <Table rows={rows} />
    </>
  )
}

const TAIL = 1500 // characters of an answer that a lane shows

function OneLane({ lane: { wire, track }, row: { figures } }: { lane: Lane; row: Row }) {
  const text = useRef<HTMLPreElement>(null)
  useEffect(() => {
    if (text.current) text.current.scrollTop = text.current.scrollHeight
  }, [track.text])
  const long = track.text.length > TAIL
  return (
    <li className="lane" data-wire={wire.id} data-state={track.state}>
      <h3>{wire.name}</h3>
      <pre ref={text} tabIndex={0} aria-label={`Answer over ${wire.name}`} role="region">
        {long ? `…${track.text.slice(-TAIL)}` : track.text}
        {track.error !== null && track.state === "failed" && (
          <span className="lane-error">{track.error.reason}: {track.error.message}</span>
        )}
      </pre>
      <p className="lane-figures">
        <span className="lane-state">{track.state}</span>
        <span>first {milliseconds(figures.firstToken)} ms</span>
        <span>{perSecond(figures.tokensPerSecond)} tokens/s</span>
      </p>
    </li>
  )
}

function Table({ rows }: { rows: readonly Row[] }) {
  return (
    <>
      <div className="race-table" tabIndex={0} role="region" aria-label="Figures of the race">
        <table>
          <caption>Figures</caption>
          <thead>
            <tr>
              <th scope="col">Wire</th>
              {columns.map(({ title, meaning }) => <th key={title} scope="col" title={meaning}>{title}</th>)}
              <th scope="col">End</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name}>
                <th scope="row">{row.name}</th>
                {columns.map(({ title, cell }) => <td key={title}>{cell(row)}</td>)}
                <td className="end">{row.state}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="race-copy"><CopyButton text={markdown(rows)} what="the table as Markdown" /> as a Markdown table</p>
    </>
  )
}
