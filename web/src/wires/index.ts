// The table of all wires.

import type { Event } from "../api/events.ts"
import type { Place } from "../api/place.ts"
import { articleHttp, articleWebsocket } from "./article.ts"
import { connect, connectGrpcWeb } from "./connect.ts"
import { ended } from "./ending.ts"
import { googleGrpcWeb } from "./google.ts"
import { ndjson } from "./ndjson.ts"
import { sse } from "./sse.ts"
import { text } from "./text.ts"
import { websocket } from "./websocket.ts"
import type { Call, Tap, Wire, WireId } from "./wire.ts"

type Run = (call: Call, signal: AbortSignal, tap: Tap) => AsyncIterable<Event>

const wire = (id: WireId, name: string, run: Run, takes: Wire["takes"] = "http"): Wire => ({
  id,
  name,
  takes,
  article: id.startsWith("article-"),
  run: (call, signal, tap) => ended(run(call, signal, tap), signal),
})

/** Each with the addresses of this place. */
export function wiresOf(place: Place): readonly Wire[] {
  return [
    wire("sse", "SSE", sse(place)),
    wire("ndjson", "NDJSON", ndjson(place)),
    wire("text", "Text", text(place)),
    wire("websocket", "WebSocket", websocket(place), "websocket"),
    wire("connect", "Connect", connect(place)),
    wire("grpc-web-connect", "gRPC-Web (connect-web)", connectGrpcWeb(place)),
    wire("grpc-web-google", "gRPC-Web (Google)", googleGrpcWeb(place)),
    wire("article-fastapi", "/streaming/fastapi/", articleHttp(place, "streaming/fastapi/")),
    wire("article-starlette", "/streaming/starlette/", articleHttp(place, "streaming/starlette/")),
    wire("article-websocket", "/ws", articleWebsocket(place), "websocket"),
  ]
}
