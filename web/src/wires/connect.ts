// Connect's client: its own protocol, and gRPC-Web, both over fetch.

import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web"
import type { Event, RunError } from "../api/events.ts"
import type { Place } from "../api/place.ts"
import { Functions } from "../stubs/deltawire/v1/functions_pb.ts"
import { ErrorInfoSchema, RetryInfoSchema } from "../stubs/google/rpc/error_details_pb.ts"
import { headerLines } from "./http.ts"
import { errorOf, eventOf, runMessage } from "./rpc.ts"
import { noTap, type Call, type Tap } from "./wire.ts"

type MakeTransport = (options: { baseUrl: string; fetch: typeof globalThis.fetch }) => Transport

const client = (makeTransport: MakeTransport, base: (place: Place) => URL) => (place: Place) =>
  async function* (call: Call, signal: AbortSignal, tap: Tap): AsyncGenerator<Event> {
    const baseUrl = base(place).href.replace(/\/$/, "")
    const functions = createClient(Functions, makeTransport({ baseUrl, fetch: tapped(tap) }))
    try {
      for await (const message of functions.stream(runMessage(call), { signal })) {
        const event = eventOf(message)
        if (event !== null) yield event
      }
    } catch (thrown) {
      yield runError(ConnectError.from(thrown))
    }
  }

export const connect = client(createConnectTransport, ({ api }) => api)
export const connectGrpcWeb = client(createGrpcWebTransport, ({ rpc }) => rpc)

function runError(error: ConnectError): RunError {
  const [info] = error.findDetails(ErrorInfoSchema)
  if (info === undefined && error.cause instanceof TypeError) throw error.cause // fetch itself has failed
  const [retry] = error.findDetails(RetryInfoSchema)
  return errorOf(codeName(error.code), error.rawMessage, info, retry)
}

function codeName(code: Code): string {
  return (Code[code] ?? "unknown").replace(/\B[A-Z]/g, "_$&").toLowerCase()
}

/** `fetch`, with a look at what goes through. */
function tapped(tap: Tap): typeof globalThis.fetch {
  if (tap === noTap) return (input, init) => fetch(input, init)
  return async (input, init) => {
    const request = new Request(input, init)
    tap.sent(`POST ${new URL(request.url).pathname} HTTP/1.1\r\n${headerLines(request.headers)}\r\n`)
    if (init?.body instanceof Uint8Array) tap.sent(init.body)
    const reply = await fetch(input, init)
    tap.received(`HTTP/1.1 ${reply.status} ${reply.statusText}\r\n${headerLines(reply.headers)}\r\n`)
    const look = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(part, controller) {
        tap.received(part)
        controller.enqueue(part)
      },
    })
    const { status, statusText, headers } = reply
    return new Response(reply.body?.pipeThrough(look) ?? null, { status, statusText, headers })
  }
}
