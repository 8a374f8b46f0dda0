// Google's client for gRPC-Web. In its text mode it reads an XMLHttpRequest as it grows; in its binary mode it would
// have the answer when the whole of it is there. Its messages are those that protoc-gen-es makes.

import { fromBinary, toBinary } from "@bufbuild/protobuf"
import { base64Decode } from "@bufbuild/protobuf/wire"
import { anyUnpack } from "@bufbuild/protobuf/wkt"
import { GrpcWebClientBase, MethodDescriptor, MethodType, StatusCode, type RpcError } from "grpc-web"
import type { Event, RunError } from "../api/events.ts"
import type { Place } from "../api/place.ts"
import { EventSchema, RunRequestSchema } from "../stubs/deltawire/v1/functions_pb.ts"
import type { Event as Message, RunRequest } from "../stubs/deltawire/v1/functions_pb.ts"
import { ErrorInfoSchema, RetryInfoSchema } from "../stubs/google/rpc/error_details_pb.ts"
import { StatusSchema } from "../stubs/google/rpc/status_pb.ts"
import { Channel } from "./channel.ts"
import { headerLines } from "./http.ts"
import { errorOf, eventOf, runMessage } from "./rpc.ts"
import { noTap, type Call, type Tap } from "./wire.ts"

const stream = new MethodDescriptor(
  "/deltawire.v1.Functions/Stream",
  MethodType.SERVER_STREAMING,
  Object as unknown as new () => RunRequest,
  Object as unknown as new () => Message,
  (request: RunRequest) => toBinary(RunRequestSchema, request),
  (bytes: Uint8Array) => fromBinary(EventSchema, bytes),
)

/** What the client says where XMLHttpRequest has met nobody. */
const NO_REPLY = /http status code: 0$/i

export const googleGrpcWeb = (place: Place) =>
  async function* (call: Call, signal: AbortSignal, tap: Tap): AsyncGenerator<Event> {
    signal.throwIfAborted()
    const channel = new Channel<Event>()
    const path = place.rpc.href.replace(/\/$/, "") + stream.getName()
    const reply = tappedBy(tap, () =>
      new GrpcWebClientBase({ format: "text" }).serverStreaming(path, runMessage(call), {}, stream))
    const leave = () => {
      reply.cancel()
      channel.close()
    }
    reply.on("data", (message) => {
      const event = eventOf(message)
      if (event !== null) channel.push(event)
    })
    reply.on("error", (error) => {
      if (NO_REPLY.test(error.message)) channel.close(new Error("no reply"))
      else channel.push(runError(error))
    })
    reply.on("end", () => channel.close())
    signal.addEventListener("abort", leave)
    try {
      yield* channel
    } finally {
      signal.removeEventListener("abort", leave)
      reply.cancel()
    }
  }

function runError({ code, message, metadata }: RpcError): RunError {
  const header = metadata["grpc-status-details-bin"]
  const details = header ? fromBinary(StatusSchema, base64Decode(header)).details : []
  const info = details.map((detail) => anyUnpack(detail, ErrorInfoSchema)).find((found) => found !== undefined)
  const retry = details.map((detail) => anyUnpack(detail, RetryInfoSchema)).find((found) => found !== undefined)
  return errorOf(codeName(code), message, info, retry)
}

function codeName(code: number): string {
  const found = Object.entries(StatusCode).find(([, number]) => number === code)
  const name = found?.[0].toLowerCase() ?? "unknown"
  return name === "cancelled" ? "canceled" : name
}

/** The client makes its XMLHttpRequest by itself and at once: meanwhile that is one which the tap sees into. */
function tappedBy<T>(tap: Tap, call: () => T): T {
  if (tap === noTap) return call()
  const plain = globalThis.XMLHttpRequest
  globalThis.XMLHttpRequest = tappedRequest(tap, plain)
  try {
    return call()
  } finally {
    globalThis.XMLHttpRequest = plain
  }
}

function tappedRequest(tap: Tap, plain: typeof XMLHttpRequest): typeof XMLHttpRequest {
  return class extends plain {
    #path = ""
    #headers: [string, string][] = []
    #seen = 0

    constructor() {
      super()
      // Before the client listens: with the last message in its hands it lets go of the reply at once.
      this.addEventListener("readystatechange", () => this.#look())
    }

    override open(method: string, url: string | URL, ...rest: unknown[]): void {
      this.#path = `${method} ${new URL(url, document.baseURI).pathname}`
      ;(super.open as (...all: unknown[]) => void)(method, url, ...rest)
    }

    override setRequestHeader(name: string, value: string): void {
      this.#headers.push([name, value])
      super.setRequestHeader(name, value)
    }

    override send(body?: XMLHttpRequestBodyInit | null): void {
      tap.sent(`${this.#path} HTTP/1.1\r\n${headerLines(this.#headers)}\r\n`)
      if (typeof body === "string" || body instanceof Uint8Array) tap.sent(body)
      super.send(body)
    }

    #look(): void {
      if (this.readyState === this.HEADERS_RECEIVED) {
        const head = this.getAllResponseHeaders()
        tap.received(`HTTP/1.1 ${this.status} ${this.statusText}\r\n${head}\r\n`)
      } else if (this.readyState >= this.LOADING && this.responseText.length > this.#seen) {
        tap.received(this.responseText.slice(this.#seen))
        this.#seen = this.responseText.length
      }
    }
  }
}
