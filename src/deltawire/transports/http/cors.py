"""What lets the pages of the allowed origins call, and read our replies (Fetch, §3.2: CORS).

A preflight is an OPTIONS request like any other: only its reply's headers tell the browser more. There are no
credentials of a browser's own that could be misused, so every header may be sent.
"""

from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deltawire.transports.http.replies import Header

_METHODS = b"GET, HEAD, POST"
_EXPOSED = b"deltawire-run-id, retry-after, grpc-status, grpc-message, grpc-status-details-bin"
_MAX_AGE = b"600"
"""Seconds for which a browser need not ask again."""


class Cors:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, origins: Iterable[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        more = self._headers(scope["method"], Headers(scope=scope))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self._app(scope, receive, send_with_headers)

    def _headers(self, method: str, request: Headers) -> list[Header]:
        always = [(b"vary", b"origin")]  # no cache may give one origin the reply to another
        origin = request.get("origin", "")
        if origin.lower() not in self._origins:
            return always
        allowed = [*always, (b"access-control-allow-origin", origin.encode("latin-1"))]
        if method != "OPTIONS" or "access-control-request-method" not in request:
            return [*allowed, (b"access-control-expose-headers", _EXPOSED)]
        allowed += [(b"access-control-allow-methods", _METHODS), (b"access-control-max-age", _MAX_AGE)]
        if wanted := request.get("access-control-request-headers"):
            allowed.append((b"access-control-allow-headers", wanted.encode("latin-1")))
        if request.get("access-control-request-private-network") == "true":
            allowed.append((b"access-control-allow-private-network", b"true"))
        return allowed
