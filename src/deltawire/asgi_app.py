"""The HTTP surface as an ASGI app, to be mounted in one's own."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from types import TracebackType
from typing import NamedTuple, Self

from starlette.types import ASGIApp, Receive, Scope, Send

from deltawire.bootstrap.core import Core, build_core
from deltawire.bootstrap.load import load_functions
from deltawire.observers.log import RunLog
from deltawire.settings import Settings
from deltawire.transports.http.app import build_app


def asgi(app: str) -> "App":
    """The functions of ``app`` (``"shop.py"``, or a module's name) as an ASGI app.

    Configured like ``deltawire serve``. Whose requests arrive, and under which names, is the outer app's to say: the
    ``Host`` is not checked, the ``Origin`` is. Raises ``DeclarationError`` for what cannot work.
    """
    settings = Settings.load(app=app)
    functions = load_functions(app)
    return App(settings, lambda: build_core(functions, settings, [RunLog()]))


class _Open(NamedTuple):
    app: ASGIApp
    end: AsyncGenerator[None, None]
    """Closes the core when it is closed."""


class App:
    """An ASGI app. What it holds (connections to providers, the local model's process) is closed by whichever comes
    first: the end of ``async with app``, the lifespan's shutdown where the server runs the app itself, the end of the
    event loop, or nobody having the app any more. Mounting it asks for nothing: the outer app's lifespan never reaches
    what is mounted, the end of its loop does.
    """

    def __init__(self, settings: Settings, build: Callable[[], Core]) -> None:
        self._settings = settings
        self._build = build
        self._first: Core | None = build()  # what cannot work fails here
        self._open: dict[asyncio.AbstractEventLoop, _Open] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        await (await self._opened()).app(scope, receive, send)

    async def __aenter__(self) -> Self:
        await self._opened()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def _live(self, receive: Receive, send: Send) -> None:
        """The lifespan protocol."""
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await self._close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _opened(self) -> _Open:
        loop = asyncio.get_running_loop()
        opened = self._open.get(loop)
        if opened is None:
            core, self._first = self._first or self._build(), None
            app = build_app(core.engine, self._settings.http, on_loopback=False)
            opened = self._open[loop] = _Open(app, _closing(core, self._open, loop))
            # A generator that has begun is one that its loop closes, at its own end at the latest.
            await anext(opened.end)
        return opened

    async def _close(self) -> None:
        opened = self._open.get(asyncio.get_running_loop())
        if opened is not None:
            await opened.end.aclose()


async def _closing(
    core: Core, still_open: dict[asyncio.AbstractEventLoop, _Open], loop: asyncio.AbstractEventLoop
) -> AsyncGenerator[None, None]:
    """Yields once; being closed, it closes the core."""
    try:
        yield
    finally:
        still_open.pop(loop, None)
        await core.close()
