"""What a request asks of a server beyond its path: ``Expect`` (RFC 9110 §10.1.1) and ``Content-Encoding`` (§8.4).

In: requests as they came. Out: requests whose body is plain, or refusals. ``100-continue`` is the server's to answer,
when the body is first read.
"""

import zlib
from collections.abc import Awaitable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deltawire.domain.errors import Reason, RunError
from deltawire.engine.engine import Engine
from deltawire.transports.http.replies import send_problem
from deltawire.transports.http.request import received_by, too_large, values

_GZIP = frozenset({"gzip", "x-gzip"})
_PIECE = 64 * 1024
_AS_GZIP = 16 + zlib.MAX_WBITS


class Expectations:
    """ASGI middleware. ``limit`` is in bytes of the compressed body; its content meets the same limit where it is
    read."""

    def __init__(self, app: ASGIApp, engine: Engine, limit: int) -> None:
        self._app = app
        self._engine = engine
        self._limit = limit

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http":
            return self._app(scope, receive, send)
        if not (values(scope, b"expect") or values(scope, b"content-encoding")):  # as nearly all are
            return self._app(scope, receive, send)
        headers = Headers(scope=scope)
        unmet = [each for each in _members(headers, "expect") if each != "100-continue"]
        if unmet and scope["http_version"] != "1.0":
            message = f"this server does not know the expectation '{unmet[0][:80]}'; leave Expect out"
            error = RunError(Reason.expectation_failed, message)
            return send_problem(send, self._engine.arrive("http").refuse(error))
        codings = [each for each in _members(headers, "content-encoding") if each != "identity"]
        if not codings:
            return self._app(scope, receive, send)
        if len(codings) == 1 and codings[0] in _GZIP:
            # Its announced length is that of the compressed body, which says nothing of the content's.
            plain = received_by(scope, (field for field in scope["headers"] if field[0] != b"content-length"))
            return self._app(plain, _Gunzip(receive, self._limit), send)
        refusal = _Refusal(", ".join(codings), send)
        return self._app(received_by(scope, scope["headers"]), refusal.receive, refusal.send)


class _Gunzip:
    """An ASGI ``receive`` that inflates the body piece by piece, so that a reader who has enough can stop."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._inflate = zlib.decompressobj(_AS_GZIP)
        self._pending = b""
        self._received = 0
        self._more = True
        self._over = False

    async def __call__(self) -> Message:
        while not self._over:
            if piece := self._next_piece():
                return {"type": "http.request", "body": piece, "more_body": True}
            if not self._more:
                if self._received and not self._inflate.eof:
                    raise _no_gzip("it ends too early")
                self._over = True
                return {"type": "http.request", "body": b"", "more_body": False}
            message = await self._receive()
            if message["type"] == "http.disconnect":
                return message
            self._pending = message.get("body", b"")
            self._more = message.get("more_body", False)
            self._received += len(self._pending)
            if self._received > self._limit:
                raise too_large(self._limit)
        return await self._receive()

    def _next_piece(self) -> bytes:
        """Empty when everything that was received is used up."""
        try:
            while True:
                if self._inflate.eof and self._pending:  # several members may follow each other (RFC 1952 §2.2)
                    self._inflate = zlib.decompressobj(_AS_GZIP)
                piece = self._inflate.decompress(self._pending, _PIECE)
                self._pending = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
                if piece or not self._pending:
                    return piece
        except zlib.error:
            raise _no_gzip("its bytes are damaged") from None


class _Refusal:
    """Fails whoever reads the body, and tells in the reply which coding would have been read. What does not read it
    answers as ever: a wrong path is a wrong path, however the body came."""

    def __init__(self, codings: str, send: Send) -> None:
        self._codings = codings
        self._send = send
        self._failed = False

    async def receive(self) -> Message:
        self._failed = True
        raise RunError(
            Reason.unsupported_media, f"the body's content-encoding is '{self._codings[:80]}'; send gzip or none"
        )

    async def send(self, message: Message) -> None:
        if self._failed and message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], (b"accept-encoding", b"gzip")]}
        await self._send(message)


def _members(headers: Headers, name: str) -> list[str]:
    """The members of a list field, over all its lines, in lower case."""
    return [member.strip().lower() for line in headers.getlist(name) for member in line.split(",") if member.strip()]


def _no_gzip(why: str) -> RunError:
    return RunError(Reason.invalid_json, f"the body is not gzip, as its content-encoding says: {why}")
