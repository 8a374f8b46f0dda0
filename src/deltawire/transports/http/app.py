"""The ASGI app: which path leads where, and what is told to a request that leads nowhere."""

import importlib.metadata
from collections.abc import Awaitable, Mapping

from starlette.routing import Route, Router, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from deltawire.domain.function import Function
from deltawire.engine.engine import Engine
from deltawire.transports.http.article import ARTICLE_PATHS, StreamPrompt
from deltawire.transports.http.article_websocket import ArticleWebSocket
from deltawire.transports.http.chat_completions import ChatCompletions, ListModels
from deltawire.transports.http.cors import Cors
from deltawire.transports.http.docs import docs_pages
from deltawire.transports.http.documents import json_document
from deltawire.transports.http.expectations import Expectations
from deltawire.transports.http.functions import ListFunctions, RunFunction
from deltawire.transports.http.guard import Guard
from deltawire.transports.http.health import Readyz, healthz
from deltawire.transports.http.invoke import Invoke
from deltawire.transports.http.openapi.document import openapi
from deltawire.transports.http.playground import playground
from deltawire.transports.http.refusals import Refusals, Refusing
from deltawire.transports.http.rpc.service import procedures
from deltawire.transports.http.settings import HttpSettings
from deltawire.transports.http.websocket import NoWebSocket, UpgradeRequired, WebSocket


def build_app(engine: Engine, settings: HttpSettings, *, on_loopback: bool, article_function: str = "chat") -> ASGIApp:
    """``on_loopback``: the server listens on loopback only, so that the ``Host`` must be a name of this machine.
    ``article_function`` answers bare prompts."""
    listing = ListFunctions(engine)
    models = ListModels(engine)
    refusals = Refusals(engine)
    prompted = StreamPrompt(engine, settings, article_function)

    def route(path: str, **apps: ASGIApp) -> Route:
        return _Route(path, _ByMethod(refusals, apps))

    routes = [  # they are tried in this order
        route("/v1/functions/{name}", GET=listing, POST=RunFunction(engine, settings)),
        route("/invoke", POST=Invoke(engine, settings)),
        route("/v1/functions", GET=listing),
        route("/openapi.json", GET=json_document(lambda: openapi(_functions(engine), _version()))),
        *(route(path, GET=page) for path, page in docs_pages().items()),
        route("/v1/chat/completions", POST=ChatCompletions(engine, settings)),
        route("/v1/models", GET=models),
        route("/v1/models/{id}", GET=models),
        *(route(path, POST=prompted) for path in ARTICLE_PATHS),
        route("/v1/ws", GET=UpgradeRequired(engine)),
        route("/ws", GET=UpgradeRequired(engine)),
        WebSocketRoute("/v1/ws", WebSocket(engine, settings)),
        WebSocketRoute("/ws", ArticleWebSocket(engine, settings, article_function)),
        WebSocketRoute("/{path:path}", NoWebSocket(engine)),
        *(route(path, POST=app) for path, app in procedures(engine, settings, article_function).items()),
        route("/healthz", GET=healthz),
        route("/readyz", GET=Readyz(engine.admission)),
    ]
    if settings.playground:  # last: on its way to a function no call passes it
        pages = playground(engine, refusals, article_function, _version())
        routes += [route(path, GET=page) for path, page in pages.items()]
    # No redirects from a slash at the end: a redirected POST is one that many clients send again without its body.
    router = Router(routes, redirect_slashes=False, default=refusals.unknown_path)
    # What lies around the endpoint of a stream stays in memory, and is gone through by each of its pieces: it is less
    # than ``Starlette`` puts there, and mostly hands over what is to be awaited instead of awaiting it.
    app = Expectations(router.app, engine, settings.max_body_bytes)
    app = Refusing(Guard(app, engine, settings, on_loopback=on_loopback), refusals)
    return Cors(app, settings.allowed_origins) if settings.allowed_origins else app


class _ByMethod:
    """An ASGI app that picks another by the request's method. HEAD is answered as GET, whose body the server drops;
    OPTIONS with the methods that there are (RFC 9110 §9.3)."""

    def __init__(self, refusals: Refusals, apps: Mapping[str, ASGIApp]) -> None:
        self._allow = ", ".join(sorted({*apps, "OPTIONS", *(("HEAD",) if "GET" in apps else ())}))
        self._refusals = refusals
        self._apps = {**apps, **({"HEAD": apps["GET"]} if "GET" in apps else {}), "OPTIONS": self._options}

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        app = self._apps.get(scope["method"])
        if app is None:
            return self._refusals.method_not_allowed(scope, send, self._allow)
        return app(scope, receive, send)

    async def _options(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        headers = [(b"allow", self._allow.encode())]
        await send({"type": "http.response.start", "status": 204, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


class _Route(Route):
    """As Starlette matches it. Which methods it takes, its endpoint knows."""

    @override
    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:  # pyright: ignore[reportIncompatibleMethodOverride]  (what is awaited is the same)
        return self.app(scope, receive, send)


def _functions(engine: Engine) -> list[Function]:
    return [plan.function for plan in engine.plans.values()]


def _version() -> str:
    try:
        return importlib.metadata.version("deltawire")
    except importlib.metadata.PackageNotFoundError:
        return "0"
