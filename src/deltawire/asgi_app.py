"""The HTTP surface as an ASGI app, to be mounted in one's own."""

import asyncio
import weakref
from collections.abc import AsyncGenerator, Callable
from types import TracebackType
from typing import NamedTuple, Self

from starlette.types import ASGIApp, Receive, Scope, Send

from deltawire.bootstrap.article import check_article_function
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
    check_article_function(functions, settings)
    return App(settings, lambda: build_core(functions, settings, [RunLog()]))


class _Open(NamedTuple):
    app: ASGIApp
    end: AsyncGenerator[None, None]
    """Closes the core when it is closed."""
    forgotten: "weakref.finalize[[AsyncGenerator[None, None]], App]"


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
            for ended in [other for other in self._open if other.is_closed()]:
                self._open.pop(ended).forgotten.detach()
            core, self._first = self._first or self._build(), None
            settings = self._settings
            app = build_app(core.engine, settings.http, on_loopback=False, article_function=settings.article_function)
            end = _closing(core)
            opened = self._open[loop] = _Open(app, end, weakref.finalize(self, _let_go, end))
            opened.forgotten.atexit = False
            # A generator that has begun is one that its loop closes: when nobody has it any more, or at its own end.
            await anext(end)
        return opened

    async def _close(self) -> None:
        opened = self._open.pop(asyncio.get_running_loop(), None)
        if opened is not None:
            opened.forgotten.detach()
            await opened.end.aclose()


async def _closing(core: Core) -> AsyncGenerator[None, None]:
    """Yields once; being closed, it closes the core."""
    try:
        yield
    finally:
        await core.close()


def _let_go(end: AsyncGenerator[None, None]) -> None:
    """Nobody has the app any more. What holds the core's end must not be garbage together with the core: so it is held
    by the finalizer that calls this, and by nothing from here on."""
