// Programs in Python 3.9 or newer; but for WebSockets, its standard library is enough.

import { literal, stringLiteral } from "./literals.ts"
import type { Request, Shape } from "./request.ts"

const text = (value: string): string => stringLiteral(value, "python")

function posting(request: Request, reading: string, afterwards: string): string {
  const headers = literal({ "content-type": "application/json", accept: request.accept }, "python", 1)
  return String.raw`import json
import sys
import urllib.error
import urllib.request

body = ${literal(request.body, "python", 0, 7)}
request = urllib.request.Request(
    ${text(request.url)},
    json.dumps(body).encode(),
    ${headers},
)
${afterwards && "finished = False\n"}try:
    with urllib.request.urlopen(request, timeout=${request.silence}) as reply:
${reading}
except urllib.error.HTTPError as failure:
    problem = json.load(failure)
    sys.exit(f"{problem['code']} {problem['reason']}: {problem['detail']}")
${afterwards}`
}

const CUT = String.raw`if not finished:
    sys.exit("the stream was cut")
`

const events = (indent: string): string =>
  String.raw`if event["type"] == "text":
    print(event["text"], end="", flush=True)
elif event["type"] == "error":
    sys.exit(f"{event['code']} {event['reason']}: {event['message']}")
elif event["type"] == "finished":
    finished = True`.replaceAll(/^/gm, indent)

const NDJSON = String.raw`        for line in reply:
            if not line.strip():
                continue  # a heartbeat
            event = json.loads(line)
${events("            ")}`

const SSE = String.raw`        for line in reply:
            if line.startswith(b"event: "):
                kind = line[7:].decode().strip()
            elif line.startswith(b"data: "):
                event = {"type": kind, **json.loads(line[6:])}
${events("                ")}`

const TEXT = String.raw`        while part := reply.read1(65536):
            sys.stdout.buffer.write(part)
            sys.stdout.flush()`

const ARTICLE = String.raw`        kind, data = "", []
        for line in reply:
            line = line.decode().removesuffix("\n")
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                data.append(line[6:])
            elif not line:
                if kind == "error":
                    error = json.loads(data[0])
                    sys.exit(f"{error['code']} {error['reason']}: {error['message']}")
                if kind == "end":
                    finished = True
                else:
                    print("\n".join(data), end="", flush=True)
                kind, data = "", []`

const connect = (request: Request): string => String.raw`import json
import struct
import sys
import urllib.request

run = ${literal(request.body, "python", 0, 6)}
run["inputJson"] = json.dumps(${literal(request.input, "python", 0, 30)})
message = json.dumps(run).encode()
request = urllib.request.Request(
    ${text(`${request.url}/deltawire.v1.Functions/Stream`)},
    struct.pack(">BI", 0, len(message)) + message,  # flags and length stand before each message
    {"content-type": "application/connect+json"},
)
with urllib.request.urlopen(request, timeout=${request.silence}) as reply:
    flags = 0
    while flags != 2 and len(head := reply.read(5)) == 5:
        flags, length = struct.unpack(">BI", head)
        event = json.loads(reply.read(length))
        print(event.get("text", ""), end="", flush=True)
if flags != 2:
    sys.exit("the stream was cut")
if "error" in event:
    sys.exit(f"{event['error']['code']}: {event['error']['message']}")
`

const websocket = (request: Request): string => String.raw`import json
import sys

from websockets.sync.client import connect  # pip install websockets

run = ${literal(request.body, "python", 0, 6)}
with connect(${text(request.url)}, subprotocols=["deltawire.v1"], max_size=None) as socket:
    socket.send(json.dumps(run))
    for message in socket:
        event = json.loads(message)
        if event["type"] == "text":
            print(event["text"], end="", flush=True)
        elif event["type"] == "error":
            sys.exit(f"{event['code']} {event['reason']}: {event['message']}")
        elif event["type"] == "finished":
            break
    else:
        sys.exit("the stream was cut")
`

const articleWebsocket = (request: Request): string => String.raw`import json
import sys

from websockets.sync.client import connect  # pip install websockets

with connect(${text(request.url)}, max_size=None) as socket:
    socket.send(${text(request.prompt)})
    for message in socket:
        lines = message.split("\n")
        data = [line[6:] for line in lines if line.startswith("data: ")]
        if lines[0] == "event: end":
            break
        if lines[0] == "event: error":
            error = json.loads(data[0])
            sys.exit(f"{error['code']} {error['reason']}: {error['message']}")
        print("\n".join(data), end="", flush=True)
    else:
        sys.exit("the stream was cut")
`

export const python: Partial<Record<Shape, (request: Request) => string>> = {
  sse: (request) => posting(request, SSE, CUT),
  ndjson: (request) => posting(request, NDJSON, CUT),
  text: (request) => posting(request, TEXT, ""),
  article: (request) => posting(request, ARTICLE, CUT),
  connect,
  websocket,
  article_websocket: articleWebsocket,
}
