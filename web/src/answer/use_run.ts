import { useEffect, useRef, useState } from "react"
import { noTap, type Call, type Tap, type Wire } from "../wires/wire.ts"
import { after, begin, type Answer } from "./state.ts"

export interface Run {
  readonly answer: Answer | null
  readonly running: boolean
  /** Brings the answer when it has ended, or `null` where it was forgotten, or another run begun, before. */
  start(wire: Wire, call: Call, tap?: Tap): Promise<Answer | null>
  stop(): void
  /** Stops what is under way, and shows nothing. */
  forget(): void
}

/** One run at a time. However many pieces come, the page is drawn once a frame. */
export function useRun(): Run {
  const [answer, show] = useState<Answer | null>(null)
  const latest = useRef<AbortController | null>(null)
  useEffect(() => () => latest.current?.abort(), [])

  const stop = () => latest.current?.abort()
  const forget = () => {
    stop()
    latest.current = null
    show(null)
  }
  const start: Run["start"] = async (wire, call, tap = noTap) => {
    stop()
    const mine = new AbortController()
    latest.current = mine
    const draw = (now: Answer) => {
      if (latest.current === mine) show(now)
    }
    const end = await followed(wire.run(call, mine.signal, tap), draw)
    return latest.current === mine ? end : null
  }
  return { answer, running: answer !== null && answer.end === null, start, stop, forget }
}

/** The answer at its end; until then it is drawn as it grows. */
async function followed(events: ReturnType<Wire["run"]>, draw: (now: Answer) => void): Promise<Answer> {
  let now = begin(performance.now())
  let drawing: ReturnType<typeof setTimeout> | undefined
  draw(now)
  for await (const event of events) {
    now = after(now, event, performance.now())
    drawing ??= setTimeout(() => {
      drawing = undefined
      draw(now)
    }, pause(now))
  }
  clearTimeout(drawing)
  draw(now)
  return now
}

/** Milliseconds from one drawing to the next: about a frame, and more where there is much to draw. It is a timer's,
 * which goes on where a page in the background draws no frames. */
function pause({ text }: Answer): number {
  return Math.max(16, text.length / 1000)
}
