"""Keeps foreign web pages from spending the user's key.

A browser tells in ``Origin`` which page makes it send a POST or open a WebSocket: it must be our own or an allowed one.
On loopback, where nobody from outside can call but a page in the user's own browser can, the ``Host`` must be a name of
this machine: a page whose name was rebound to 127.0.0.1 gives itself away by it.
"""

from collections.abc import Awaitable, Iterable
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from deltawire.domain.errors import Reason, RunError
from deltawire.engine.engine import Engine
from deltawire.transports.http.replies import replying, send_problem
from deltawire.transports.http.request import values
from deltawire.transports.http.settings import HttpSettings

_LONGEST_KEPT = 256
_DEFAULT_PORTS = {"http": 80, "https": 443}
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class Guard:
    """ASGI middleware. ``on_loopback`` says that the server listens on loopback only."""

    def __init__(self, app: ASGIApp, engine: Engine, settings: HttpSettings, *, on_loopback: bool) -> None:
        self._app = app
        self._engine = engine
        allowed = {_name_and_port("http", host)[0] for host in settings.allowed_hosts}
        self._hosts = (_LOCAL_NAMES | allowed) - {""} if on_loopback else None
        self._origins = frozenset(settings.allowed_origins)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] in ("http", "websocket"):
            hosts = values(scope, b"host")
            host = hosts[0] if hosts else None
            try:
                if len(hosts) > 1:  # RFC 9112 §3.2: which of them a proxy has looked at, nobody knows
                    raise RunError(Reason.invalid_input, "the request has more than one Host header: send one")
                self._check_host(host)
                if scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD", "OPTIONS"):
                    self._check_origin(values(scope, b"origin"), host)
            except RunError as error:
                return send_problem(replying(scope, send), self._engine.arrive("http").refuse(error))
        return self._app(scope, receive, send)  # no coroutine of ours lies beneath a stream

    def _check_host(self, host: str | None) -> None:
        if self._hosts is None or _name_and_port("http", host or "")[0] in self._hosts:
            return
        raise RunError(
            Reason.forbidden,
            f"this server listens on loopback and is not called '{(host or '')[:100]}'; "
            "add the name to http.allowed_hosts if that is meant to be so",
        )

    def _check_origin(self, origins: Iterable[str], host: str | None) -> None:
        for origin in origins:
            if origin.lower() not in self._origins and not _same(origin, host or ""):
                raise RunError(
                    Reason.forbidden,
                    f"pages of the origin '{origin[:100]}' may not call; add it to http.allowed_origins if they should",
                )


def _same(origin: str, host: str) -> bool:
    scheme, separator, authority = origin.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in _DEFAULT_PORTS:  # `null`, an app's or an extension's own scheme, or nonsense
        return False
    # Behind a proxy that ends TLS the scheme is not ours to see: a Host without a port has its origin's default one.
    name, port = _name_and_port(scheme, authority)
    return bool(name) and (name, port) == _name_and_port(scheme, host)


def _name_and_port(scheme: str, authority: str) -> tuple[str, int | None]:
    return _kept(scheme, authority) if len(authority) < _LONGEST_KEPT else _parsed(scheme, authority)


@lru_cache(maxsize=128)
def _kept(scheme: str, authority: str) -> tuple[str, int | None]:
    """A caller sends the same again and again."""
    return _parsed(scheme, authority)


def _parsed(scheme: str, authority: str) -> tuple[str, int | None]:
    try:
        parts = urlsplit(f"//{authority}")  # knows brackets and letter case; a user or a path is in no Host or Origin
        return (parts.hostname or "").rstrip("."), parts.port or _DEFAULT_PORTS.get(scheme)
    except ValueError:
        return "", None
