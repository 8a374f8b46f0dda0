// Holds a wire to the rule that a run has one end: what is thrown, a stop and a cut become its `error`.

import type { Event, RunError } from "../api/events.ts"

export async function* ended(events: AsyncIterable<Event>, signal: AbortSignal): AsyncGenerator<Event> {
  let runId: string | null = null
  let partial = false
  const error = (code: string, reason: string, message: string): RunError =>
    ({ type: "error", code, reason, message, run_id: runId, partial })
  const stopped = () => error("canceled", "stopped", "stopped here; the server has been told, and stops the model")
  try {
    for await (const event of events) {
      if (event.type === "started") runId = event.run_id
      if (event.type === "text" || event.type === "reasoning") partial = true
      const last = event.type === "finished" || event.type === "error"
      // A wire tells of an abort in its own words, which are not the reader's.
      yield last && event.type === "error" && signal.aborted ? stopped() : event
      if (last) return
    }
    yield signal.aborted
      ? stopped()
      : error("unavailable", "cut", "the stream was cut: it ended without an end of the run")
  } catch (thrown) {
    if (signal.aborted) yield stopped()
    else yield error("unavailable", partial ? "cut" : "unreachable", unreachable(thrown))
  }
}

function unreachable(thrown: unknown): string {
  const said = thrown instanceof Error ? thrown.message : String(thrown)
  return `the connection failed (${said}); is the server there, and may this page call it?`
}
