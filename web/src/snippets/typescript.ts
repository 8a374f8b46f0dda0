// Programs in TypeScript for Node 22 or newer; in a page with a place for the text instead of `process.stdout`. RPC takes
// the stubs that docs/clients.md tells how to make; all else needs nothing.

import { literal, stringLiteral } from "./literals.ts"
import type { Request, Shape } from "./request.ts"

const text = (value: string): string => stringLiteral(value, "typescript")

const WHERE = "// Node 22 or newer; in a page, show the text in place of process.stdout"

const posting = (request: Request, decoder: string, reading: string): string => String.raw`${WHERE}
const reply = await fetch(${text(request.url)}, {
  method: "POST",
  headers: ${literal({ "content-type": "application/json", accept: request.accept }, "typescript", 1, 9)},
  body: JSON.stringify(${literal(request.body, "typescript", 1, 22)}),
})
if (!reply.ok) {
  const problem = await reply.json()
  throw new Error(${"`${problem.code} ${problem.reason}: ${problem.detail}`"})
}

const reader = reply.body!.pipeThrough(new TextDecoderStream(${decoder})).getReader()
${reading}`

const byLines = (before: string, each: string): string => String.raw`let rest = ""
let finished = false
${before}while (true) {
  const { done, value } = await reader.read()
  if (done) break
  const lines = (rest + value).split("\n")
  rest = lines.pop()!
  for (const line of lines) {
${each}  }
}
if (!finished) throw new Error("the stream was cut")
`

const event = (indent: string): string =>
  String.raw`if (event.type === "text") process.stdout.write(event.text)
if (event.type === "error") throw new Error(${"`${event.code} ${event.reason}: ${event.message}`"})
if (event.type === "finished") finished = true`.replaceAll(/^/gm, indent)

const NDJSON = byLines(
  "",
  String.raw`    if (line === "") continue // a heartbeat
    const event = JSON.parse(line)
${event("    ")}
`,
)

const SSE = byLines(
  `let kind = ""\n`,
  String.raw`    if (line.startsWith("event: ")) kind = line.slice(7)
    if (!line.startsWith("data: ")) continue
    const event = { type: kind, ...JSON.parse(line.slice(6)) }
${event("    ")}
`,
)

const TEXT = String.raw`while (true) {
  const { done, value } = await reader.read() // raises where the answer is cut
  if (done) break
  process.stdout.write(value)
}
`

const ARTICLE = byLines(
  `let kind = ""\nlet data: string[] = []\n`,
  String.raw`    if (line.startsWith("event: ")) kind = line.slice(7)
    if (line.startsWith("data: ")) data.push(line.slice(6))
    if (line !== "") continue
    if (kind === "error") throw new Error(data.join())
    if (kind === "end") finished = true
    else process.stdout.write(data.join("\n"))
    kind = ""
    data = []
`,
)

const websocket = (request: Request): string => String.raw`${WHERE}
const socket = new WebSocket(${text(request.url)}, "deltawire.v1")
socket.onopen = () => socket.send(JSON.stringify(${literal(request.body, "typescript", 0, 50)}))

await new Promise<void>((resolve, reject) => {
  socket.onmessage = ({ data }) => {
    const event = JSON.parse(data)
    if (event.type === "text") process.stdout.write(event.text)
    if (event.type === "error") reject(new Error(${"`${event.code} ${event.reason}: ${event.message}`"}))
    if (event.type === "finished") resolve()
  }
  socket.onclose = () => reject(new Error("the stream was cut"))
}).finally(() => socket.close())
`

const articleWebsocket = (request: Request): string => String.raw`${WHERE}
const socket = new WebSocket(${text(request.url)})
socket.onopen = () => socket.send(${text(request.prompt)})

await new Promise<void>((resolve, reject) => {
  socket.onmessage = ({ data: message }) => {
    const lines: string[] = message.split("\n")
    const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6))
    if (lines[0] === "event: end") resolve()
    else if (lines[0] === "event: error") reject(new Error(data.join()))
    else process.stdout.write(data.join("\n"))
  }
  socket.onclose = () => reject(new Error("the stream was cut"))
}).finally(() => socket.close())
`

/** protobuf-es has 64-bit integers as `bigint`. */
function run({ body }: Request): string {
  const settings = body["settings"] as { readonly seed?: number } | undefined
  const whole = settings?.seed !== undefined && Number.isInteger(settings.seed)
  const exact = whole ? { ...settings, seed: BigInt(settings.seed ?? 0) } : settings
  return literal({ ...body, settings: exact }, "typescript", 0, 15)
}

const connect = (transport: string) => (request: Request): string => String.raw`${WHERE}
import { ConnectError, createClient } from "@connectrpc/connect"
import { ${transport} } from "@connectrpc/connect-web"
import { Functions } from "./gen/deltawire/v1/functions_pb.ts" // docs/clients.md says how it is made

const functions = createClient(Functions, ${transport}({ baseUrl: ${text(request.url)} }))
const run = ${run(request)}
const inputJson = JSON.stringify(${literal(request.input, "typescript", 0, 33)})
try {
  for await (const { event } of functions.stream({ ...run, inputJson })) {
    if (event.case === "text") process.stdout.write(event.value)
  }
} catch (thrown) {
  throw new Error(ConnectError.from(thrown).message) // also where the stream was cut
}
`

const google = (request: Request): string => String.raw`import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { GrpcWebClientBase, MethodDescriptor, MethodType } from "grpc-web"
import { EventSchema, RunRequestSchema, type Event, type RunRequest } from "./gen/deltawire/v1/functions_pb.ts"
// docs/clients.md says how the stubs are made. This client runs in pages only.

const stream = new MethodDescriptor<RunRequest, Event>(
  "/deltawire.v1.Functions/Stream", MethodType.SERVER_STREAMING, Object as never, Object as never,
  (request: RunRequest) => toBinary(RunRequestSchema, request),
  (bytes: Uint8Array) => fromBinary(EventSchema, bytes),
)
const fields = ${run(request)}
const inputJson = JSON.stringify(${literal(request.input, "typescript", 0, 33)})
const run = create(RunRequestSchema, { ...fields, inputJson })
const url = ${text(request.url)} + stream.getName()
const events = new GrpcWebClientBase({ format: "text" }).serverStreaming(url, run, {}, stream)

let ended = false // this client takes a stream that was cut for one that has ended
events.on("data", ({ event }) => {
  if (event.case === "text") document.body.append(event.value)
  if (event.case === "finished") ended = true
})
events.on("error", ({ code, message }) => {
  ended = true
  console.error(${"`${code}: ${message}`"})
})
events.on("end", () => ended || console.error("the stream was cut"))
`

export const typescript: Partial<Record<Shape, (request: Request) => string>> = {
  sse: (request) => posting(request, "", SSE),
  ndjson: (request) => posting(request, "", NDJSON),
  text: (request) => posting(request, `"utf-8", { ignoreBOM: true }`, TEXT),
  article: (request) => posting(request, "", ARTICLE),
  websocket,
  article_websocket: articleWebsocket,
  connect: connect("createConnectTransport"),
  grpc_web: connect("createGrpcWebTransport"),
  grpc_web_google: google,
}
