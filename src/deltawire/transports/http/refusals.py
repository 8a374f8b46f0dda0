"""What is told to a request that no endpoint has answered: nothing is at its path, its method is none, or we failed.

These are runs too: they have an id and a line in the log.
"""

from collections.abc import Awaitable

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deltawire.domain.errors import Reason, RunError
from deltawire.engine.engine import Engine
from deltawire.transports.http.replies import Header, send_problem


class Refusals:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def unknown_path(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """An ASGI app."""
        listing = f"{scope.get('root_path', '')}/v1/functions"
        message = f"nothing is at {_path(scope)}; the functions are listed at {listing}"
        await self._refuse(send, RunError(Reason.unknown_path, message))

    async def method_not_allowed(self, scope: Scope, send: Send, allow: str) -> None:
        message = f"{scope['method']} is not for {_path(scope)}; it takes {allow}"
        await self._refuse(send, RunError(Reason.method_not_allowed, message), (b"allow", allow.encode()))

    async def failed(self, send: Send) -> None:
        await self._refuse(send, RunError(Reason.internal, "the server failed; its log tells more"))

    async def _refuse(self, send: Send, error: RunError, *headers: Header) -> None:
        await send_problem(send, self._engine.arrive("http").refuse(error), headers)


class Refusing:
    """ASGI middleware: what fails before a reply has begun is told so. The server logs it, and cuts what has begun."""

    def __init__(self, app: ASGIApp, refusals: Refusals) -> None:
        self._app = app
        self._refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        def noted(message: Message) -> Awaitable[None]:
            nonlocal begun
            begun = True
            return send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception:
            if not begun:
                await self._refusals.failed(send)
            raise


def _path(scope: Scope) -> str:
    return Request(scope).url.path[:100]
