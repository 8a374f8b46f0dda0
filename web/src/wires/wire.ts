// The port of all wires: a call goes in, and the events of its run come out.

import type { Event, Settings } from "../api/events.ts"

export type WireId =
  | "sse"
  | "ndjson"
  | "text"
  | "websocket"
  | "connect"
  | "grpc-web-connect"
  | "grpc-web-google"
  | "article-fastapi"
  | "article-starlette"
  | "article-websocket"

/** One call of a function. */
export interface Call {
  readonly function: string
  readonly input: unknown
  /** The bare string that the article's endpoints take, where the function takes one. */
  readonly prompt?: string
  readonly settings?: Settings
  readonly user?: string
  /** In seconds. */
  readonly timeout?: number
}

/** Sees the bytes of a call, as they go and come. Must cost next to nothing. */
export interface Tap {
  sent(part: string | Uint8Array): void
  received(part: string | Uint8Array): void
}

export const noTap: Tap = { sent() {}, received() {} }

export interface Wire {
  readonly id: WireId
  readonly name: string
  /** What a browser opens for it; of HTTP/1.1 connections it has six for a host. */
  readonly takes: "http" | "websocket"
  /** Whether it leads to the function of the article's endpoints, whatever the call's is. */
  readonly article: boolean
  /** What happens, with exactly one `finished` or `error` as the last. Nothing is thrown: a failed status, a cut and an
   * abort by the signal are `error`s too. */
  run(call: Call, signal: AbortSignal, tap: Tap): AsyncIterable<Event>
}
