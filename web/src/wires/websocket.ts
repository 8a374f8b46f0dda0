import type { Event } from "../api/events.ts"
import type { Place } from "../api/place.ts"
import { Channel } from "./channel.ts"
import { runRequest } from "./http.ts"
import type { Call, Tap } from "./wire.ts"

export const websocket = (place: Place) =>
  async function* (call: Call, signal: AbortSignal, tap: Tap): AsyncGenerator<Event> {
    const run = JSON.stringify({ type: "run", id: "1", function: call.function, ...runRequest(call) })
    const socket = messages(new URL("v1/ws", place.api), ["deltawire.v1"], run, signal, tap)
    for await (const message of socket) yield JSON.parse(message) as Event
  }

/** Open a socket, say one thing, and hear what is said. Ends when the socket does; who hears no more closes it. */
export async function* messages(
  url: URL, protocols: string[], say: string, signal: AbortSignal, tap: Tap,
): AsyncGenerator<string> {
  signal.throwIfAborted()
  const channel = new Channel<string>()
  const address = new URL(url)
  address.protocol = url.protocol.replace("http", "ws")
  tap.sent(`GET ${url.pathname} HTTP/1.1\r\nupgrade: websocket\r\n` +
    `${protocols.map((name) => `sec-websocket-protocol: ${name}\r\n`).join("")}\r\n`)
  const socket = new WebSocket(address, protocols)
  let opened = false
  socket.onopen = () => {
    opened = true
    tap.sent(say)
    socket.send(say)
  }
  socket.onmessage = ({ data }: MessageEvent<string>) => {
    tap.received(data)
    channel.push(data)
  }
  socket.onclose = ({ code, reason }) =>
    channel.close(new Error(opened ? `closed with ${code}${reason && `: ${reason}`}` : "no WebSocket was opened"))
  const leave = () => socket.close()
  signal.addEventListener("abort", leave)
  try {
    yield* channel
  } finally {
    signal.removeEventListener("abort", leave)
    socket.close()
  }
}
