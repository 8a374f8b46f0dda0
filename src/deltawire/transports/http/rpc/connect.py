"""The Connect protocol (connectrpc.com/docs/protocol): calls over plain HTTP, with messages in protobuf or JSON."""

from starlette.datastructures import Headers
from starlette.types import Send

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error
from deltawire.transports.codec import Encode
from deltawire.transports.http.event_stream import Media
from deltawire.transports.http.replies import NO_STORE, RUN_ID, send_failure, send_whole
from deltawire.transports.http.rpc import encodings
from deltawire.transports.http.rpc.deadlines import connect_timeout
from deltawire.transports.http.rpc.encodings import Encoding
from deltawire.transports.http.rpc.envelopes import encoder, envelope, only_message
from deltawire.transports.protobuf import connect_error
from deltawire.transports.status import CONNECT_HTTP_STATUS

_TRANSPORT = "connect"
_END = 2
"""The flag of the envelope that ends a stream."""


class ConnectUnary:
    """One message in, one out, both bare. A failure is an HTTP status with the error in JSON."""

    transport = _TRANSPORT

    def __init__(self, content_type: str, encoding: Encoding) -> None:
        self.content_type = content_type
        self.encoding = encoding

    def timeout(self, headers: Headers) -> float | None:
        return _timeout(headers)

    def message(self, headers: Headers, body: bytes, limit: int) -> bytes:  # noqa: ARG002  (it was read within limits)
        return body

    async def send_answer(self, send: Send, message: bytes, run_id: str | None) -> None:
        about = [(RUN_ID, run_id.encode())] if run_id else []
        await send_whole(send, 200, self.content_type.encode(), message, [NO_STORE, *about])

    async def send_error(self, send: Send, error: Error) -> None:
        status = CONNECT_HTTP_STATUS[error.code]
        await send_failure(send, error, b"application/json", connect_error(error), status=status)


class ConnectStream:
    """Messages in envelopes. The reply's status is always 200: the last envelope says how the call ended."""

    transport = _TRANSPORT

    def __init__(self, content_type: str, encoding: Encoding) -> None:
        self.content_type = content_type
        self.encoding = encoding

    def timeout(self, headers: Headers) -> float | None:
        return _timeout(headers)

    def message(self, headers: Headers, body: bytes, limit: int) -> bytes:
        return only_message(body, headers.get("connect-content-encoding", "").lower(), limit)

    async def send_error(self, send: Send, error: Error) -> None:
        await send_whole(
            send, 200, self.content_type.encode(), _end(error), [NO_STORE, (RUN_ID, error.run_id.encode())]
        )

    def media(self, message: Encode) -> Media:
        heartbeat = envelope(0, self.encoding.empty)
        return Media(_TRANSPORT, self.content_type.encode(), encoder(message, _end), heartbeat, self.send_error)

    def sending(self, send: Send) -> Send:
        return send


UNARY = [
    ConnectUnary("application/json", encodings.JSON),
    ConnectUnary("application/proto", encodings.PROTO),
]
STREAM = [
    ConnectStream("application/connect+json", encodings.JSON),
    ConnectStream("application/connect+proto", encodings.PROTO),
]


def _end(error: Error | None) -> bytes:
    return envelope(_END, b"{}" if error is None else b'{"error":' + connect_error(error) + b"}")


def _timeout(headers: Headers) -> float | None:
    version = headers.get("connect-protocol-version", "1")
    if version != "1":
        raise RunError(Reason.invalid_input, f"connect-protocol-version is '{version[:80]}'; send 1, or leave it out")
    return connect_timeout(headers.getlist("connect-timeout-ms"))
