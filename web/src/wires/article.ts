// The endpoints of the streaming-chat article: a prompt in, raw text in `data:` lines out.

import { createParser, type EventSourceMessage } from "eventsource-parser"
import type { Event } from "../api/events.ts"
import type { Place } from "../api/place.ts"
import { post } from "./http.ts"
import { serverSentEvents } from "./sse.ts"
import { messages } from "./websocket.ts"
import type { Call, Tap } from "./wire.ts"

export const articleHttp = (place: Place, path: string) =>
  async function* (call: Call, signal: AbortSignal, tap: Tap): AsyncGenerator<Event> {
    const body = { prompt: call.prompt ?? "", ...call.settings }
    const reply = await post(new URL(path, place.api), "text/event-stream", body, signal, tap)
    if ("type" in reply) return yield reply
    for await (const event of serverSentEvents(reply.parts)) yield articleEvent(event, reply.runId)
  }

export const articleWebsocket = (place: Place) =>
  async function* (call: Call, signal: AbortSignal, tap: Tap): AsyncGenerator<Event> {
    const come: EventSourceMessage[] = []
    const parser = createParser({ onEvent: (event) => come.push(event) })
    for await (const message of messages(new URL("ws", place.api), [], call.prompt ?? "", signal, tap)) {
      parser.feed(message)
      for (const event of come.splice(0)) yield articleEvent(event, null)
    }
  }

export function articleEvent({ event, data }: EventSourceMessage, runId: string | null): Event {
  switch (event) {
    case undefined:
      return { type: "text", text: data }
    case "end":
      return { type: "finished", run_id: runId, output: null, finish_reason: null, usage: null, attempts: null }
    default:
      return { ...JSON.parse(data), type: event } as Event
  }
}
