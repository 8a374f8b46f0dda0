"""Documents that stay the same while the server runs: each is made when it is first asked for, and has a validator.

A caller who has one already sends its ``ETag`` and is told so in a few bytes (RFC 9110 §13.1.2).
"""

import hashlib
from collections.abc import Callable, Iterable

import msgspec
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from deltawire.transports.codec import well_formed
from deltawire.transports.http.replies import NOSNIFF, Header


class Document:
    """An ASGI app for GET and HEAD."""

    def __init__(self, media: bytes, make: Callable[[], bytes], headers: Iterable[Header] = ()) -> None:
        self._media = media
        self._make = make
        self._headers = tuple(headers)
        self._made: tuple[bytes, bytes] | None = None

    def content(self) -> bytes:
        return self._tagged()[0]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        body, tag = self._tagged()
        # Nobody may go on with an old one unasked: the next start may serve other functions.
        headers = [NOSNIFF, (b"cache-control", b"no-cache"), (b"etag", tag), *self._headers]
        if _matches(Headers(scope=scope).getlist("if-none-match"), tag):
            await send({"type": "http.response.start", "status": 304, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        about = [(b"content-type", self._media), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": [*about, *headers]})
        await send({"type": "http.response.body", "body": body})

    def _tagged(self) -> tuple[bytes, bytes]:
        if self._made is None:
            body = self._make()
            self._made = body, b'"%s"' % hashlib.sha256(body).hexdigest()[:32].encode()
        return self._made


def json_document(make: Callable[[], object]) -> Document:
    return Document(b"application/json", lambda: msgspec.json.encode(well_formed(make())))


def _matches(fields: list[str], tag: bytes) -> bool:
    """The weak comparison, which is that of ``If-None-Match``."""
    known = [each.strip().removeprefix("W/") for field in fields for each in field.split(",")]
    return "*" in known or tag.decode() in known
