"""Connect and gRPC-Web as bytes: requests put together and replies taken apart, by hand."""

import base64
import json
import ssl
import struct
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import httpx
from google.protobuf import json_format
from google.protobuf.any_pb2 import Any as Any_
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from msgspec import UNSET

from deltawire.domain.errors import Code, Reason
from deltawire.domain.events import Error
from deltawire.transports.status import GRPC_STATUS
from deltawire.v1 import functions_pb2 as pb
from tests.matrix.server import Server

STREAM = "/deltawire.v1.Functions/Stream"
INVOKE = "/deltawire.v1.Functions/Invoke"
LIST = "/deltawire.v1.Functions/List"
ARTICLE = "/stream.ResponseStreamingService/stream"

HI = pb.RunRequest(function="say", input_json='{"message":"hi"}')
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the usual context reads all certificates of the machine

Frame = tuple[int, bytes]


def enveloped(message: bytes, flags: int = 0) -> bytes:
    return struct.pack(">BI", flags, len(message)) + message


def frames(body: bytes) -> list[Frame]:
    """All of them, whole."""
    found: list[Frame] = []
    while body:
        flags, length = struct.unpack(">BI", body[:5])
        assert len(body) >= 5 + length
        found.append((flags, body[5 : 5 + length]))
        body = body[5 + length :]
    return found


def decoded(body: bytes) -> bytes:
    """Base64 whose parts may have been padded each."""
    return b"".join(base64.b64decode(body[at : at + 4], validate=True) for at in range(0, len(body), 4))


@dataclass(slots=True)
class Rpc:
    """Calls a server."""

    client: httpx.AsyncClient

    async def post(
        self, path: str, content_type: str, body: bytes, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        return await self.client.post(path, content=body, headers={"content-type": content_type, **(headers or {})})

    async def stream(
        self, transport: str, message: Message = HI, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """Call ``Stream``."""
        return await self.post(STREAM, STREAMS[transport], stream_body(transport, message), headers)


@asynccontextmanager
async def calling(server: Server) -> AsyncGenerator[Rpc]:
    async with httpx.AsyncClient(base_url=server.url, verify=NO_TLS, trust_env=False, timeout=10) as client:
        yield Rpc(client)


STREAMS = {
    "connect": "application/connect+proto",
    "connect_json": "application/connect+json",
    "grpc_web": "application/grpc-web+proto",
    "grpc_web_text": "application/grpc-web-text+proto",
}
"""Content types of the streams."""


def stream_body(transport: str, message: Message = HI) -> bytes:
    """A request for ``Stream``."""
    if transport == "connect_json":
        return enveloped(json_format.MessageToJson(message).encode())
    body = enveloped(message.SerializeToString())
    return base64.b64encode(body) if transport == "grpc_web_text" else body


def deadline(transport: str, milliseconds: int) -> dict[str, str]:
    if transport.startswith("connect"):
        return {"connect-timeout-ms": str(milliseconds)}
    return {"grpc-timeout": f"{milliseconds}m"}


def ended_with(transport: str, response: httpx.Response) -> tuple[list[bytes], Error]:
    """The messages of a stream that failed, and how it failed, as its protocol tells it."""
    assert response.status_code == 200
    body = decoded(response.content) if transport == "grpc_web_text" else response.content
    *messages, last = frames(body) or [(0x80, b"")]
    assert {flags for flags, _ in messages} <= {0}
    if transport.startswith("connect"):
        assert last[0] == 2
        return [message for _, message in messages], connect_failure(json.loads(last[1])["error"])
    assert last[0] == 0x80
    fields = dict(line.split(": ", 1) for line in last[1].decode().splitlines()) or response.headers
    status = Status.FromString(base64.b64decode(fields["grpc-status-details-bin"] + "=="))
    assert (str(status.code), status.message) == (fields["grpc-status"], unquote(fields["grpc-message"]))
    return [message for _, message in messages], _failure(Code(_NAMES[status.code]), status.message, status.details)


def connect_failure(error: dict[str, Any]) -> Error:
    details = [
        Any_(type_url=f"type.googleapis.com/{one['type']}", value=base64.b64decode(one["value"] + "=="))
        for one in error["details"]
    ]
    return _failure(Code(error["code"]), error["message"], details)


_NAMES = {number: code for code, number in GRPC_STATUS.items()}


def _failure(code: Code, message: str, details: Iterable[Any_]) -> Error:
    """What a status says, as the event it was."""
    info, retry = ErrorInfo(), RetryInfo()
    unpacked = [detail.Unpack(info) or detail.Unpack(retry) for detail in details]
    assert all(unpacked)
    delay = retry.retry_delay
    return Error(
        code=code,
        reason=Reason(info.reason),
        message=message,
        run_id=info.metadata["run_id"],
        retry_after=delay.ToNanoseconds() / 1e9 if len(unpacked) == 2 else UNSET,
        partial=info.metadata["partial"] == "true",
    )
