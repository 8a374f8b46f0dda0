"""Replies in one piece: a JSON document, or a problem."""

import math
from collections.abc import Iterable

from msgspec import UNSET
from starlette.types import Message, Scope, Send

from deltawire.domain.events import Error
from deltawire.transports import codec
from deltawire.transports.status import HTTP_STATUS

Header = tuple[bytes, bytes]

RUN_ID = b"deltawire-run-id"
NOSNIFF: Header = (b"x-content-type-options", b"nosniff")
NO_STORE: Header = (b"cache-control", b"no-store")


def replying(scope: Scope, send: Send) -> Send:
    """How a plain reply is sent: to a WebSocket's handshake, which it refuses (ASGI, "WebSocket Denial Response")."""
    if scope["type"] != "websocket":
        return send
    extensions: dict[str, object] = scope.get("extensions") or {}

    async def send_refusal(message: Message) -> None:
        if "websocket.http.response" in extensions:
            await send({**message, "type": f"websocket.{message['type']}"})
        elif message["type"] == "http.response.start":  # a server that can say no more than 403
            await send({"type": "websocket.close"})

    return send_refusal


async def send_json(send: Send, body: bytes, *, run_id: str | None = None, status: int = 200) -> None:
    about = [(RUN_ID, run_id.encode())] if run_id else []
    await send_whole(send, status, b"application/json", body, [NO_STORE, *about])


async def send_problem(send: Send, error: Error, headers: Iterable[Header] = ()) -> None:
    """The error as a problem document (RFC 9457). ``Retry-After`` is whole seconds, rounded up (RFC 9110 §10.2.3)."""
    await send_failure(send, error, b"application/problem+json", codec.problem(error), headers)


async def send_failure(
    send: Send, error: Error, media: bytes, body: bytes, headers: Iterable[Header] = (), *, status: int | None = None
) -> None:
    """The error as a document of a form of its own, with the headers that every failure has. ``status`` is that of its
    reason, if the form has none of its own."""
    more = [NO_STORE, (RUN_ID, error.run_id.encode()), *headers]
    if error.retry_after is not UNSET:
        more.append((b"retry-after", str(math.ceil(error.retry_after)).encode()))
    await send_whole(send, status or HTTP_STATUS[error.reason], media, body, more)


async def send_whole(send: Send, status: int, media: bytes, body: bytes, headers: Iterable[Header]) -> None:
    own = [(b"content-type", media), (b"content-length", str(len(body)).encode()), NOSNIFF]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})
