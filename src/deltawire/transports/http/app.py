"""The ASGI app: which path leads where, and what is told to a request that leads nowhere."""

import importlib.metadata

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from deltawire.domain.errors import Reason, RunError
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
from deltawire.transports.http.replies import Header, send_problem
from deltawire.transports.http.rpc.service import procedures
from deltawire.transports.http.settings import HttpSettings
from deltawire.transports.http.websocket import NoWebSocket, UpgradeRequired, WebSocket


def build_app(engine: Engine, settings: HttpSettings, *, on_loopback: bool, article_function: str = "chat") -> ASGIApp:
    """``on_loopback``: the server listens on loopback only, so that the ``Host`` must be a name of this machine.
    ``article_function`` answers bare prompts."""
    listing = ListFunctions(engine)
    models = ListModels(engine)
    prompted = StreamPrompt(engine, settings, article_function)
    routes = [
        _route("/v1/functions", GET=listing),
        _route("/v1/functions/{name}", GET=listing, POST=RunFunction(engine, settings)),
        _route("/invoke", POST=Invoke(engine, settings)),
        _route("/openapi.json", GET=json_document(lambda: openapi(_functions(engine), _version()))),
        *(_route(path, GET=page) for path, page in docs_pages().items()),
        _route("/v1/chat/completions", POST=ChatCompletions(engine, settings)),
        _route("/v1/models", GET=models),
        _route("/v1/models/{id}", GET=models),
        *(_route(path, POST=prompted) for path in ARTICLE_PATHS),
        _route("/v1/ws", GET=UpgradeRequired(engine)),
        _route("/ws", GET=UpgradeRequired(engine)),
        WebSocketRoute("/v1/ws", WebSocket(engine, settings)),
        WebSocketRoute("/ws", ArticleWebSocket(engine, settings, article_function)),
        WebSocketRoute("/{path:path}", NoWebSocket(engine)),
        *(_route(path, POST=app) for path, app in procedures(engine, settings, article_function).items()),
        _route("/healthz", GET=healthz),
        _route("/readyz", GET=Readyz(engine.admission)),
    ]
    app = Starlette(
        routes=routes,
        middleware=[
            *_cors(settings),
            Middleware(Guard, engine=engine, settings=settings, on_loopback=on_loopback),
            Middleware(Expectations, engine=engine, limit=settings.max_body_bytes),
        ],
        exception_handlers={HTTPException: _Refusals(engine).http, Exception: _Refusals(engine).internal},
    )
    app.router.redirect_slashes = False  # a redirected POST is one that many clients send again without its body
    return app


def _cors(settings: HttpSettings) -> list[Middleware]:
    return [Middleware(Cors, origins=settings.allowed_origins)] if settings.allowed_origins else []


class _ByMethod:
    """An ASGI app that picks another by the request's method. HEAD is answered as GET, whose body the server drops;
    OPTIONS with the methods that there are (RFC 9110 §9.3)."""

    def __init__(self, **apps: ASGIApp) -> None:
        self.methods: list[str] = sorted({*apps, "OPTIONS", *(("HEAD",) if "GET" in apps else ())})
        self._apps = apps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method: str = scope["method"]
        if method == "OPTIONS":
            headers = [(b"allow", ", ".join(self.methods).encode())]
            await send({"type": "http.response.start", "status": 204, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._apps["GET" if method == "HEAD" else method](scope, receive, send)


def _route(path: str, **apps: ASGIApp) -> Route:
    by_method = _ByMethod(**apps)
    return Route(path, by_method, methods=by_method.methods)


def _functions(engine: Engine) -> list[Function]:
    return [plan.function for plan in engine.plans.values()]


def _version() -> str:
    try:
        return importlib.metadata.version("deltawire")
    except importlib.metadata.PackageNotFoundError:
        return "0"


class _Refusals:
    """Problems for what no endpoint answered. They are runs too: they have an id and a line in the log."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def http(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 405:
            # The router keeps the methods in a set, whose order is another in each process.
            allow = ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
            message = f"{request.method} is not for {request.url.path[:100]}; it takes {allow}"
            return self._problem(RunError(Reason.method_not_allowed, message), (b"allow", allow.encode()))
        listing = f"{request.scope.get('root_path', '')}/v1/functions"
        message = f"nothing is at {request.url.path[:100]}; the functions are listed at {listing}"
        return self._problem(RunError(Reason.unknown_path, message))

    async def internal(self, request: Request, error: Exception) -> Response:  # noqa: ARG002  (the server logs the error)
        return self._problem(RunError(Reason.internal, "the server failed; its log tells more"))

    def _problem(self, error: RunError, *headers: Header) -> Response:
        return _ProblemResponse(self._engine, error, headers)


class _ProblemResponse(Response):
    """It arrives as a run, with a line in the log, only when it is sent: of a reply that is cut, none is."""

    def __init__(self, engine: Engine, error: RunError, headers: tuple[Header, ...]) -> None:
        super().__init__()
        self._engine = engine
        self._error = error
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        await send_problem(send, self._engine.arrive("http").refuse(self._error), self._headers)
