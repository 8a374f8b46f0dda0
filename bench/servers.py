"""The servers that are measured: how each is started, what its callers ask, where the text is in its answer.

Another server is another entry of SERVERS.
"""

import itertools
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Generic, TypeVar

from bench.enveloped import EnvelopedCall, envelope, pieces_of_json, pieces_of_protobuf
from bench.http2 import GrpcCall
from bench.load import Call
from bench.nginx import find_nginx, nginx_command, nginx_version
from bench.peers.environments import LITELLM as LITELLM_PACKAGES
from bench.peers.environments import USUAL as USUAL_PACKAGES
from bench.peers.litellm_proxy import ENVIRONMENT as LITELLM_ENVIRONMENT
from bench.peers.litellm_proxy import litellm_command
from bench.websocket import WebSocketCall, pieces_of_lines
from deltawire.v1 import functions_pb2 as pb

_CallT = TypeVar("_CallT", bound=Call | GrpcCall)


@dataclass(frozen=True, slots=True)
class Place:
    """What a server is told: a folder for its own files, the port to serve and another for a server of both HTTP and
    gRPC, the upstream's port."""

    folder: Path
    port: int
    grpc_port: int
    upstream: int


@dataclass(frozen=True, slots=True)
class Server(Generic[_CallT]):
    name: str
    command: Callable[[Place], list[str]]
    call: _CallT
    environment: Callable[[int], Mapping[str, str]] = field(default=lambda _: {})
    """The upstream's port -> what the server finds in its environment besides PATH and the like."""
    missing: Callable[[], str | None] = field(default=lambda: None)
    """Why it cannot be run here, if so."""
    about: str = ""
    """What a reader of the figures has to know of it."""
    of_others: bool = False
    """Whether it is somebody else's program or way: that it cannot do what is asked is a finding, and no failure."""
    paces_itself: bool = False
    """Whether it sends the tokens itself and asks no upstream; its callers say how many, and how fast."""
    in_one_piece: bool = False
    """Whether an answer comes as a whole, so that no token has a time of its own."""
    both_ports: bool = False
    """Whether gRPC is on a port of its own, beside HTTP."""
    version: Callable[[], str] = field(default=lambda: "")
    """Of the program or the packages that serve."""
    start_within: float = 30.0
    """Seconds until it takes connections."""


AnyServer = Server[Call] | Server[GrpcCall]


def _data_of(body: bytes) -> list[str]:
    """The data lines of server-sent events that are written with LF and one data line each, as all of these are."""
    return [line.removeprefix("data: ") for line in body.decode().split("\n") if line.startswith("data: ")]


def _pieces_of_chat_completion(body: bytes) -> list[str]:
    chunks = [json.loads(data) for data in _data_of(body) if data != "[DONE]"]
    texts = (choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"])
    return list(filter(None, texts))


def _pieces_of_sse(body: bytes) -> list[str]:
    lines = body.decode().split("\n")
    texts = [data for kind, data in itertools.pairwise(lines) if kind == "event: text"]
    return [json.loads(data.removeprefix("data: "))["text"] for data in texts]


def _pieces_of_data(body: bytes) -> list[str]:
    texts = (json.loads(data)["text"] for data in _data_of(body))
    return list(filter(None, texts))  # the older way sends the model's empty pieces too


def _piece_of(member: str) -> Callable[[bytes], list[str]]:
    """Of a document in JSON."""
    return lambda body: [json.loads(body)[member]]


_CHAT_COMPLETION = {
    "model": "bench",
    "stream": True,
    "stream_options": {"include_usage": True},
    "messages": [{"role": "user", "content": "Say something long."}],
}


_APP = str(Path(__file__).with_name("app.py"))


def _http_command(place: Place) -> list[str]:
    ports = ["--port", str(place.port), "--grpc-port", "off"]
    return [sys.executable, "-m", "deltawire", "serve", _APP, *ports]


def _grpc_command(place: Place) -> list[str]:
    ports = ["--port", "off", "--grpc-port", str(place.port)]
    return [sys.executable, "-m", "deltawire", "serve", _APP, *ports]


def _whole_command(place: Place) -> list[str]:
    """The server as it is, with both ports."""
    ports = ["--port", str(place.port), "--grpc-port", str(place.grpc_port)]
    return [sys.executable, "-m", "deltawire", "serve", _APP, *ports]


def _bare_grpc_command(place: Place) -> list[str]:
    return [sys.executable, "-m", "bench.bare_grpc", str(place.port)]


def _uvicorn(app: str, port: int) -> list[str]:
    """One of the peers' apps, as uvicorn's documentation serves it, less a log line for each request."""
    folder = str(Path(__file__).with_name("peers"))
    listening = ["--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
    return [USUAL_PACKAGES.python, "-m", "uvicorn", "--app-dir", folder, *listening, app]


def _sdk_environment(upstream: int) -> Mapping[str, str]:
    return {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"http://127.0.0.1:{upstream}/v1"}


def _openai_environment(upstream: int) -> Mapping[str, str]:
    return {"DELTAWIRE_MODEL": "openai:bench", **_sdk_environment(upstream)}


def _deltawire(name: str, call: Call) -> Server[Call]:
    return Server(name=name, command=_http_command, environment=_openai_environment, call=call, version=_our_version)


def _our_version() -> str:
    return versions("deltawire", "uvicorn", "uvloop", "httptools", "grpcio", "msgspec")


def versions(*packages: str) -> str:
    """Of packages that are installed beside the benchmark."""
    return ", ".join(f"{package} {metadata.version(package)}" for package in packages)


_STREAM = "/deltawire.v1.Functions/Stream"
_INPUT = {"message": "Say something long."}
_INVOKE = json.dumps({"type": "chat", "input": _INPUT}).encode()
_BODY = json.dumps({"input": _INPUT}).encode()
_MESSAGE = pb.RunRequest(function="chat", input_json=json.dumps(_INPUT)).SerializeToString()
_MESSAGE_JSON = json.dumps({"function": "chat", "inputJson": json.dumps(_INPUT)}).encode()

SSE = _deltawire("sse", Call(path="/v1/functions/chat", body=_BODY, pieces_of=_pieces_of_sse))

NDJSON = _deltawire(
    "ndjson", Call(path="/v1/functions/chat", body=_BODY, pieces_of=pieces_of_lines, accept="application/x-ndjson")
)

WEBSOCKET = _deltawire(
    "websocket",
    WebSocketCall(
        path="/v1/ws",
        body=json.dumps({"type": "run", "id": "1", "function": "chat", "input": _INPUT}).encode(),
        pieces_of=pieces_of_lines,
    ),
)

CONNECT = _deltawire(
    "connect",
    EnvelopedCall(
        path=_STREAM,
        body=envelope(_MESSAGE),
        pieces_of=pieces_of_protobuf,
        accept="*/*",
        content_type="application/connect+proto",
        end=(2, b"{}"),
    ),
)

CONNECT_JSON = _deltawire(
    "connect-json",
    EnvelopedCall(
        path=_STREAM,
        body=envelope(_MESSAGE_JSON),
        pieces_of=pieces_of_json,
        accept="*/*",
        content_type="application/connect+json",
        end=(2, b"{}"),
    ),
)

GRPC_WEB = _deltawire(
    "grpc-web",
    EnvelopedCall(
        path=_STREAM,
        body=envelope(_MESSAGE),
        pieces_of=pieces_of_protobuf,
        accept="*/*",
        content_type="application/grpc-web+proto",
        end=(0x80, b"grpc-status: 0\r\n"),
    ),
)

JSON = replace(
    SSE,
    name="json",
    call=Call(path="/v1/functions/chat", body=_BODY, pieces_of=_piece_of("output"), accept="application/json"),
    in_one_piece=True,
)

INVOKE = replace(
    SSE,
    name="invoke",
    call=Call(path="/invoke", body=_INVOKE, pieces_of=_piece_of("text"), accept="application/json"),
    in_one_piece=True,
)

GRPC = Server(
    name="grpc",
    command=_grpc_command,
    environment=_openai_environment,
    call=GrpcCall(_STREAM, _MESSAGE),
    version=_our_version,
)

BARE_GRPC = Server(
    name="bare-grpc",
    command=_bare_grpc_command,
    call=GrpcCall(_STREAM, _MESSAGE),
    about="grpc.aio alone: the same messages at the same pace to the same callers, made in place, from no upstream",
    paces_itself=True,
    version=lambda: versions("grpcio", "uvloop"),
)

NGINX = Server(
    name="nginx",
    command=lambda place: nginx_command(place.folder, place.port, place.upstream),
    call=Call(
        path="/v1/chat/completions",
        body=json.dumps(_CHAT_COMPLETION).encode(),
        pieces_of=_pieces_of_chat_completion,
    ),
    about="passes the upstream's stream through",
    missing=lambda: None if find_nginx() else "nginx is not installed",
    version=nginx_version,
)

USUAL = Server(
    name="usual",
    command=lambda place: _uvicorn("usual:app", place.port),
    environment=_sdk_environment,
    call=Call(path="/chat", body=json.dumps(_INPUT).encode(), pieces_of=_pieces_of_data),
    about="FastAPI, OpenAI's SDK with its async client and a StreamingResponse, on uvicorn with uvloop and httptools",
    missing=USUAL_PACKAGES.missing,
    of_others=True,
    version=lambda: USUAL_PACKAGES.versions("fastapi", "openai", "uvicorn", "uvloop", "httptools"),
)

ARTICLE_A = Server(
    name="article-a",
    command=lambda place: _uvicorn("blocking:app", place.port),
    environment=_sdk_environment,
    call=Call(
        path="/streaming/fastapi/",
        body=json.dumps({"prompt": _INPUT["message"]}).encode(),
        pieces_of=_pieces_of_data,
    ),
    about="the older way: the SDK's blocking client in an async generator, and a pause of 0.1 s after each piece",
    missing=USUAL_PACKAGES.missing,
    of_others=True,
    version=lambda: USUAL_PACKAGES.versions("fastapi", "openai", "uvicorn", "uvloop", "httptools"),
)

LITELLM = Server(
    name="litellm",
    command=lambda place: litellm_command(place.folder, place.port, place.upstream),
    environment=lambda _: LITELLM_ENVIRONMENT,
    call=NGINX.call,
    about="the LiteLLM proxy, without keys or a database",
    missing=LITELLM_PACKAGES.missing,
    of_others=True,
    version=lambda: LITELLM_PACKAGES.versions("litellm", "openai", "fastapi", "uvicorn", "uvloop"),
    start_within=120.0,  # its modules take 15 s of an idle core the first time
)

SERVERS: tuple[AnyServer, ...] = (
    *(NGINX, SSE, NDJSON, WEBSOCKET, CONNECT, CONNECT_JSON, GRPC_WEB, GRPC, BARE_GRPC),
    *(JSON, INVOKE),
    *(USUAL, ARTICLE_A, LITELLM),
)


def call_for(server: AnyServer, tokens: int, rate: float) -> Call | GrpcCall:
    """What callers ask who want so many tokens, at that rate (0: without a pause). Only a server without an upstream
    has to be told."""
    if not isinstance(server.call, GrpcCall) or not server.paces_itself:
        return server.call
    asked = json.dumps({"tokens": tokens, "rate": rate})
    return replace(server.call, message=pb.RunRequest(function="chat", input_json=asked).SerializeToString())


def whole(wire: AnyServer, streams: int) -> AnyServer:
    """Our server with both its ports, which takes so many streams at once, and more."""
    return replace(many(wire, streams), command=_whole_command, both_ports=True)  # pyright: ignore[reportReturnType]  (one of both)


def many(server: AnyServer, streams: int) -> AnyServer:
    """The server, told in deltawire's words to take so many streams at once, and more; others take them anyway."""

    def environment(upstream: int) -> dict[str, str]:
        return {**server.environment(upstream), "DELTAWIRE_MAX_RUNS": str(2 * streams)}

    return replace(server, environment=environment)  # pyright: ignore[reportReturnType]  (one of both)
