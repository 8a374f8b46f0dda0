// What is known of a run so far, made of its events one by one.

import type { Event, Finished, RunError, Started } from "../api/events.ts"

export interface Answer {
  readonly text: string
  readonly reasoning: string
  readonly started: Started | null
  readonly end: Finished | RunError | null
  /** Milliseconds, by the page's clock. */
  readonly begun: number
  readonly first: number | null
  readonly ended: number | null
  /** How many pieces have come. */
  readonly pieces: number
}

export function begin(now: number): Answer {
  return { text: "", reasoning: "", started: null, end: null, begun: now, first: null, ended: null, pieces: 0 }
}

export function after(answer: Answer, event: Event, now: number): Answer {
  switch (event.type) {
    case "started":
      return { ...answer, started: event }
    case "text":
    case "reasoning": {
      const grown = answer[event.type] + event.text
      return { ...answer, [event.type]: grown, first: answer.first ?? now, pieces: answer.pieces + 1 }
    }
    case "finished":
    case "error":
      return { ...answer, end: event, ended: now }
  }
}

/** In words, for everybody and for screen readers. */
export function stateOf(answer: Answer): string {
  if (answer.end?.type === "error") return answer.end.reason === "stopped" ? "Stopped" : "Failed"
  if (answer.end !== null) return "Complete"
  return answer.first === null ? "Waiting for the first piece …" : "The answer is arriving …"
}

/** What there is to tell of a run, in the order in which it is shown. */
export function figuresOf(answer: Answer): (readonly [string, string])[] {
  const { started, end, begun, first, ended, pieces } = answer
  const finished = end?.type === "finished" ? end : null
  const runId = end?.run_id ?? started?.run_id
  const told: [string, string | null | undefined][] = [
    ["finish reason", finished?.finish_reason],
    ["model", started?.model],
    ["variant", started?.variant],
    ["tokens in", finished?.usage && String(finished.usage.input_tokens)],
    ["tokens out", finished?.usage && String(finished.usage.output_tokens)],
    ["attempts", finished?.attempts === null ? null : finished && String(finished.attempts)],
    ["first piece", first === null ? null : duration(first - begun)],
    ["whole", ended === null ? null : duration(ended - begun)],
    ["pieces", pieces === 0 ? null : String(pieces)],
    ["run id", runId],
  ]
  return told.filter((each): each is [string, string] => typeof each[1] === "string")
}

export function duration(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(2)} s`
}
