// The raw bytes of a call: what was sent and what came, with times, as text or in hexadecimal digits.

import { memo, useState, useSyncExternalStore } from "react"
import { hexDump, readable } from "./bytes.ts"
import type { Part, Recorder } from "./recorder.ts"
import "../look/switch.css"
import "./raw.css"

type Form = "text" | "hex"

/** `null` before the first call. */
export function Raw({ recorder }: { recorder: Recorder | null }) {
  const [form, show] = useState<Form>("text")
  useSyncExternalStore(recorder?.changes.subscribe ?? never, recorder?.changes.version ?? nought)
  if (recorder === null || recorder.first.length === 0) {
    return <p className="faint">Run the function: the bytes of the call are shown here, as they go and come.</p>
  }
  const { first, last, omitted, totals } = recorder
  return (
    <section className="raw" aria-label="Raw bytes">
      <div className="raw-head">
        <p className="faint">
          {count(totals.sent)} bytes sent, {count(totals.received)} received, as far as a page can see them: without what
          the browser adds, and without the chunks of HTTP.
        </p>
        <div role="group" aria-label="Show bytes as" className="switch">
          {(["text", "hex"] as const).map((one) => (
            <button key={one} type="button" aria-pressed={form === one} onClick={() => show(one)}>
              {one === "text" ? "Text" : "Hex"}
            </button>
          ))}
        </div>
      </div>
      <ol tabIndex={0} aria-label="Parts">
        {first.map((part, index) => <OnePart key={index} part={part} form={form} />)}
        {omitted.parts > 0 && (
          <li className="faint raw-omitted">… {count(omitted.parts)} parts with {count(omitted.bytes)} bytes are not kept …</li>
        )}
        {last.map((part, index) => <OnePart key={first.length + omitted.parts + index} part={part} form={form} />)}
      </ol>
    </section>
  )
}

const never = () => () => {}
const nought = () => 0
const count = (number: number): string => number.toLocaleString("en")

const SHOWN = 4096 // bytes of a part, until all are asked for

const OnePart = memo(function OnePart({ part, form }: { part: Part; form: Form }) {
  const [all, showAll] = useState(false)
  const bytes = all ? part.bytes : part.bytes.subarray(0, SHOWN)
  const more = part.bytes.length - bytes.length
  return (
    <li className={`part ${part.direction}`}>
      <p className="part-head">
        <b>{part.direction === "sent" ? "→ sent" : "← received"}</b>
        <span>+{part.at.toFixed(1)} ms</span>
        <span>{count(part.bytes.length + part.left)} B</span>
      </p>
      <pre className={form}>{form === "hex" ? hexDump(bytes) : <Readable bytes={bytes} />}</pre>
      {more > 0 && (
        <button type="button" className="small" onClick={() => showAll(true)}>Show {count(more)} bytes more</button>
      )}
      {part.left > 0 && <p className="faint">{count(part.left)} bytes more are not kept.</p>}
    </li>
  )
})

function Readable({ bytes }: { bytes: Uint8Array }) {
  return readable(bytes).map(({ text, special }, index) =>
    special ? <span key={index} className="special">{text}</span> : text,
  )
}
