import type { Event } from "../api/events.ts"
import type { Place } from "../api/place.ts"
import { functionUrl, post, runRequest } from "./http.ts"
import type { Call, Tap } from "./wire.ts"

/** The answer and nothing else: its end says that it is complete, and a cut connection that it is not. */
export const text = (place: Place) =>
  async function* (call: Call, signal: AbortSignal, tap: Tap): AsyncGenerator<Event> {
    const reply = await post(functionUrl(place, call), "text/plain", runRequest(call), signal, tap)
    if ("type" in reply) return yield reply
    for await (const piece of decoded(reply.parts)) yield { type: "text", text: piece }
    yield { type: "finished", run_id: reply.runId, output: null, finish_reason: null, usage: null, attempts: null }
  }

/** Whole characters, however the bytes are cut. */
export async function* decoded(parts: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true }) // a BOM is a character of the answer
  for await (const part of parts) {
    const piece = decoder.decode(part, { stream: true })
    if (piece !== "") yield piece
  }
}
