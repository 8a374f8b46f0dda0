"""The wires that a caller can take, by name."""

from typing import NamedTuple

from deltawire.callers.answer import Caller
from deltawire.callers.deployment import Deployment
from deltawire.callers.http import FORMATS, HttpCaller


class Wire(NamedTuple):
    means: str
    streams: bool = True


WIRES = {
    "sse": Wire("server-sent events"),
    "ndjson": Wire("NDJSON"),
    "text": Wire("plain text"),
    "json": Wire("JSON, the whole answer", streams=False),
    "invoke": Wire("POST /invoke, the whole answer", streams=False),
    "ws": Wire("a WebSocket"),
    "connect": Wire("Connect, binary"),
    "grpc-web": Wire("gRPC-Web, binary"),
    "grpc": Wire("gRPC"),
}


def caller(wire: str, deployment: Deployment) -> Caller:
    """What only one wire needs is imported with it."""
    match wire:
        case "ws":
            from deltawire.callers.websocket import WebSocketCaller

            return WebSocketCaller(deployment)
        case "grpc":
            from deltawire.callers.grpc import GrpcCaller

            return GrpcCaller(deployment)
        case _:
            return HttpCaller(deployment, FORMATS[wire])
