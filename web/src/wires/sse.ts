import { createParser, type EventSourceMessage } from "eventsource-parser"
import type { Event } from "../api/events.ts"
import type { Place } from "../api/place.ts"
import { functionUrl, post, runRequest } from "./http.ts"
import type { Call, Tap } from "./wire.ts"

export const sse = (place: Place) =>
  async function* (call: Call, signal: AbortSignal, tap: Tap): AsyncGenerator<Event> {
    const reply = await post(functionUrl(place, call), "text/event-stream", runRequest(call), signal, tap)
    if ("type" in reply) return yield reply
    for await (const { event, data } of serverSentEvents(reply.parts)) {
      yield { ...JSON.parse(data), type: event } as Event
    }
  }

/** The events in these bytes, each as soon as it is there. A browser's own EventSource can only GET. */
export async function* serverSentEvents(parts: AsyncIterable<Uint8Array>): AsyncGenerator<EventSourceMessage> {
  const decoder = new TextDecoder()
  let come: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (event) => come.push(event) })
  for await (const part of parts) {
    parser.feed(decoder.decode(part, { stream: true }))
    yield* come
    come = []
  }
}
