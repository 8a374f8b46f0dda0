import type { Event } from "../api/events.ts"
import type { Place } from "../api/place.ts"
import { functionUrl, post, runRequest } from "./http.ts"
import type { Call, Tap } from "./wire.ts"

export const ndjson = (place: Place) =>
  async function* (call: Call, signal: AbortSignal, tap: Tap): AsyncGenerator<Event> {
    const reply = await post(functionUrl(place, call), "application/x-ndjson", runRequest(call), signal, tap)
    if ("type" in reply) return yield reply
    for await (const line of lines(reply.parts)) {
      if (line !== "") yield JSON.parse(line) as Event // an empty line is a sign of life
    }
  }

/** The lines in these bytes, each as soon as its LF is there. Nothing else ends one, and what has none is cut off. */
export async function* lines(parts: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let begun = ""
  for await (const part of parts) {
    const [first = "", ...others] = decoder.decode(part, { stream: true }).split("\n")
    begun += first
    for (const next of others) {
      yield begun
      begun = next
    }
  }
}
