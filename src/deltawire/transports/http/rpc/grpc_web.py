"""gRPC-Web (grpc/grpc, PROTOCOL-WEB.md): gRPC for those who see no HTTP trailers. Binary, and as base64 text.

What gRPC has in its trailers comes as the last envelope of the body, or, where there is nothing before it, in the
headers.
"""

import base64
from urllib.parse import quote_from_bytes

from starlette.datastructures import Headers
from starlette.types import Message, Send

from deltawire.domain.events import Error
from deltawire.transports import protobuf
from deltawire.transports.codec import Encode
from deltawire.transports.http.event_stream import Media
from deltawire.transports.http.replies import NO_STORE, RUN_ID, Header, send_whole
from deltawire.transports.http.rpc import encodings
from deltawire.transports.http.rpc.deadlines import grpc_timeout
from deltawire.transports.http.rpc.envelopes import encoder, envelope, from_base64, only_message
from deltawire.transports.status import GRPC_STATUS

_TRANSPORT = "grpc_web"
_TRAILERS = 0x80
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")


class GrpcWeb:
    """One for each content type. ``text``: bodies are base64, so that a browser's XMLHttpRequest can read them as they
    come."""

    transport = _TRANSPORT
    encoding = encodings.PROTO

    def __init__(self, content_type: str, *, text: bool) -> None:
        self.content_type = content_type
        self._text = text

    def timeout(self, headers: Headers) -> float | None:
        return grpc_timeout(headers.getlist("grpc-timeout"))

    def message(self, headers: Headers, body: bytes, limit: int) -> bytes:
        return only_message(from_base64(body) if self._text else body, headers.get("grpc-encoding", "").lower(), limit)

    async def send_error(self, send: Send, error: Error) -> None:
        headers = [NO_STORE, (RUN_ID, error.run_id.encode()), *_trailers(error)]
        await send_whole(send, 200, self.content_type.encode(), b"", headers)

    async def send_answer(self, send: Send, message: bytes, run_id: str | None) -> None:
        about = [(RUN_ID, run_id.encode())] if run_id else []
        body = envelope(0, message) + _end(None)
        if self._text:
            body = base64.b64encode(body)
        await send_whole(send, 200, self.content_type.encode(), body, [NO_STORE, *about])

    def media(self, message: Encode) -> Media:
        heartbeat = envelope(0, self.encoding.empty)
        return Media(_TRANSPORT, self.content_type.encode(), encoder(message, _end), heartbeat, self.send_error)

    def sending(self, send: Send) -> Send:
        return _in_base64(send) if self._text else send


WIRES = [
    GrpcWeb("application/grpc-web", text=False),
    GrpcWeb("application/grpc-web+proto", text=False),
    GrpcWeb("application/grpc-web-text", text=True),
    GrpcWeb("application/grpc-web-text+proto", text=True),
]


def _trailers(error: Error | None) -> list[Header]:
    if error is None:
        return [(b"grpc-status", b"0")]
    details = base64.b64encode(protobuf.status(error)).rstrip(b"=")
    return [
        (b"grpc-status", str(GRPC_STATUS[error.code]).encode()),
        (b"grpc-message", _percent_encoded(error.message)),
        (b"grpc-status-details-bin", details),
    ]


def _end(error: Error | None) -> bytes:
    return envelope(_TRAILERS, b"".join(b"%s: %s\r\n" % trailer for trailer in _trailers(error)))


def _percent_encoded(message: str) -> bytes:
    """As ``grpc-message`` has it (gRPC over HTTP2, "Responses")."""
    return quote_from_bytes(message.encode(), safe=_PRINTABLE).encode()


def _in_base64(send: Send) -> Send:
    async def send_text(message: Message) -> None:
        if body := message.get("body"):
            message = {**message, "body": base64.b64encode(body)}
        await send(message)

    return send_text
