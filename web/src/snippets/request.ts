// What a call is on a wire, as far as the languages share it: where it goes, and what is in it.

import type { Settings } from "../api/events.ts"
import type { Call } from "../wires/wire.ts"
import type { Json } from "./literals.ts"

/** The wires as their callers program them; some are one wire at several places. */
export type Shape =
  | "sse" | "ndjson" | "text" | "websocket" | "connect" | "grpc_web" | "grpc_web_google" | "article" | "article_websocket"

type Members = { readonly [name: string]: Json | undefined }

export interface Request {
  readonly shape: Shape
  /** Absolute. */
  readonly url: string
  /** The body or the message, as an object; for RPC without the input, which is JSON text within it. */
  readonly body: Members
  readonly input: Json
  /** The reply asked for, where `Accept` picks it. */
  readonly accept: string
  /** Of an article's call. */
  readonly prompt: string
  /** The longest silence that is no failure, in seconds. */
  readonly silence: number
}

export interface Addresses {
  /** The base of the HTTP API, its WebSockets and Connect; ends in a slash. */
  readonly api: URL
  /** The base of gRPC-Web, likewise. */
  readonly rpc: URL
}

const ACCEPT: Partial<Record<Shape, string>> = {
  sse: "text/event-stream",
  ndjson: "application/x-ndjson",
  text: "text/plain",
}

const HEARD = 30 // heartbeats come every 15 s
const UNHEARD = 300 // plain text has none: the run's own limit counts

/** `path` is where an article's endpoint is. */
export function request(call: Call, shape: Shape, addresses: Addresses, path = ""): Request {
  const input = call.input as Json // it came out of a form, and goes through JSON
  return {
    shape,
    url: address(call, shape, addresses, path),
    body: body(call, shape, input),
    input,
    accept: ACCEPT[shape] ?? "*/*",
    prompt: call.prompt ?? "",
    silence: shape === "text" ? UNHEARD : HEARD,
  }
}

function address(call: Call, shape: Shape, { api, rpc }: Addresses, path: string): string {
  switch (shape) {
    case "websocket":
      return socketAddress("v1/ws", api)
    case "article_websocket":
      return socketAddress(path, api)
    case "article":
      return new URL(path, api).href
    case "connect":
      return withoutSlash(api)
    case "grpc_web":
    case "grpc_web_google":
      return withoutSlash(rpc)
    default:
      return new URL(`v1/functions/${encodeURIComponent(call.function)}`, api).href
  }
}

const withoutSlash = ({ href }: URL): string => href.replace(/\/$/, "")
const socketAddress = (path: string, api: URL): string => new URL(path, api).href.replace(/^http/, "ws")

function body(call: Call, shape: Shape, input: Json): Members {
  const { settings, user, timeout } = call
  switch (shape) {
    case "websocket":
      return { type: "run", id: "1", function: call.function, input, user, settings: said(settings), timeout }
    case "connect":
    case "grpc_web":
    case "grpc_web_google":
      return { function: call.function, user, settings: inCamels(settings), timeout }
    case "article":
      return { prompt: call.prompt ?? "", ...said(settings) }
    case "article_websocket":
      return {}
    default:
      return { input, user, settings: said(settings), timeout }
  }
}

/** Without what was left to the function. */
function said(settings: Settings | undefined): Members | undefined {
  const present = Object.entries(settings ?? {}).filter(([, value]) => value !== undefined && value !== null)
  return present.length ? (Object.fromEntries(present) as Members) : undefined
}

function inCamels(settings: Settings | undefined): Members | undefined {
  const { max_tokens, ...others } = said(settings) ?? {}
  const members = max_tokens === undefined ? others : { maxTokens: max_tokens, ...others }
  return Object.keys(members).length ? members : undefined
}
