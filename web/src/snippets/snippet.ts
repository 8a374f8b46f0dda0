// The program for a call: in a language, on a wire. Where a language has no client for the wire, the nearest wire that it
// speaks is taken, and told.

import { curl } from "./curl.ts"
import { go } from "./go.ts"
import { php } from "./php.ts"
import type { Call, WireId } from "../wires/wire.ts"
import { python } from "./python.ts"
import { request, type Addresses, type Request, type Shape } from "./request.ts"
import { ruby } from "./ruby.ts"
import { typescript } from "./typescript.ts"

export interface Language {
  readonly id: string
  readonly name: string
  /** The ending of a file of it. */
  readonly ending: string
  readonly programs: Partial<Record<Shape, (request: Request) => string>>
}

export const languages: readonly Language[] = [
  { id: "curl", name: "curl", ending: "sh", programs: curl },
  { id: "python", name: "Python", ending: "py", programs: python },
  { id: "typescript", name: "TypeScript", ending: "ts", programs: typescript },
  { id: "php", name: "PHP", ending: "php", programs: php },
  { id: "go", name: "Go", ending: "go", programs: go },
  { id: "ruby", name: "Ruby", ending: "rb", programs: ruby },
]

/** Where an article's endpoints are, and which shape a wire has. */
interface Place {
  readonly shape: Shape
  readonly path?: string
}

const PLACES: Readonly<Record<WireId, Place>> = {
  sse: { shape: "sse" },
  ndjson: { shape: "ndjson" },
  text: { shape: "text" },
  websocket: { shape: "websocket" },
  connect: { shape: "connect" },
  "grpc-web-connect": { shape: "grpc_web" },
  "grpc-web-google": { shape: "grpc_web_google" },
  "article-fastapi": { shape: "article", path: "streaming/fastapi/" },
  "article-starlette": { shape: "article", path: "streaming/starlette/" },
  "article-websocket": { shape: "article_websocket", path: "ws" },
}

interface Nearest {
  readonly place: Place
  readonly why: string
}

const NEAREST: Partial<Record<Shape, Nearest>> = {
  websocket: {
    place: { shape: "sse" },
    why: "has no WebSocket of its own; this is the same run as server-sent events",
  },
  article_websocket: {
    place: { shape: "article", path: "streaming/fastapi/" },
    why: "has no WebSocket of its own; these are the same events over HTTP",
  },
  grpc_web: { place: { shape: "connect" }, why: "has no client for gRPC-Web; this is Connect, the same call in JSON" },
  grpc_web_google: {
    place: { shape: "connect" },
    why: "has no client for gRPC-Web; this is Connect, the same call in JSON",
  },
}

export interface Snippet {
  readonly code: string
  /** What has to be said of it: that it is for another wire than the one asked for, and why. */
  readonly note: string | null
}

export function snippet(language: Language, wire: WireId, call: Call, addresses: Addresses): Snippet {
  const place = PLACES[wire]
  const program = language.programs[place.shape]
  if (program) return { code: program(request(call, place.shape, addresses, place.path)), note: null }
  const nearest = NEAREST[place.shape]
  const other = nearest && language.programs[nearest.place.shape]
  if (!other) throw new Error(`nothing is written for ${place.shape} in ${language.name}`)
  const { shape, path } = nearest.place
  return { code: other(request(call, shape, addresses, path)), note: `${language.name} ${nearest.why}.` }
}
