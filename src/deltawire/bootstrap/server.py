"""The server: the HTTP app on a core, on a socket of its own, from the first byte to the last."""

import asyncio
import errno
import logging
import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from ipaddress import ip_address

import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override

from deltawire.bootstrap.connection import Connection
from deltawire.bootstrap.core import Core
from deltawire.bootstrap.websocket_protocol import WebSocketProtocol
from deltawire.domain.errors import DeclarationError
from deltawire.observers.log import Formatter, LogSettings
from deltawire.settings import Settings
from deltawire.transports.http.app import build_app
from deltawire.transports.http.event_stream import ResponseAborted

_BACKLOG = 2048
_DRAIN = 25
"""Seconds that calls under way get to end when the server is to stop."""
_PONG_TIMEOUT = 20.0
"""Seconds after which a WebSocket whose caller has not answered a ping is given up."""

_REFUSED = "ASGI callable returned without completing handshake"

logger = logging.getLogger("deltawire")


def listen(host: str, port: int) -> socket.socket:
    """A bound socket. Raises ``DeclarationError`` where somebody else has the port, or the host is not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    if sys.platform != "win32":  # there it would take a port from under another server
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except (OSError, UnicodeError) as error:  # a name that no resolver can be asked for is the latter
        bound.close()
        number, why = (error.errno, error.strerror) if isinstance(error, OSError) else (None, None)
        wrong = "port" if number in (errno.EADDRINUSE, errno.EACCES) else "host"
        reason = (why or "its name is none").lower()
        raise DeclarationError(f"cannot listen on {host}:{port}: {reason}; choose another with --{wrong}") from None
    bound.listen(_BACKLOG)
    return bound


def configure_logging(settings: LogSettings) -> None:
    """One handler for everything, on stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(Formatter(as_json=settings.as_json))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.level.upper())
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(_was_no_error)


def build_http(core: Core, settings: Settings) -> ASGIApp:
    return build_app(core.engine, settings.http, settings.article_function, on_loopback=is_loopback(settings.host))


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def serve(core: Core, settings: Settings, bound: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; a second one ends at once. ``ready`` is called when calls are accepted."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(core, settings, bound, ready))


async def _serve(core: Core, settings: Settings, bound: socket.socket, ready: Callable[[], None]) -> None:
    server = _Server(
        uvicorn.Config(
            build_http(core, settings),
            http=Connection,
            ws=WebSocketProtocol,
            ws_max_size=settings.http.max_body_bytes,
            ws_ping_interval=settings.http.heartbeat,
            ws_ping_timeout=_PONG_TIMEOUT,
            # A token's message is smaller than what compressing it would add, and each socket would keep 100 KB for it.
            ws_per_message_deflate=False,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            # Longer than the idle time of the usual balancers, which otherwise send a call on a connection that we
            # close.
            timeout_keep_alive=75,
            timeout_graceful_shutdown=_DRAIN,
        ),
        ready,
    )
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, server.stop)
    try:
        await server.serve(sockets=[bound])
    finally:
        # What is still under way after a second signal ends as canceled, before its provider is taken away.
        tasks = list(server.server_state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await core.close()


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, which raise the signal once more when everything is closed."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    def stop(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
        if not self.force_exit and (calls := len(self.server_state.tasks)):
            logger.info("stopping: calls under way: %d; they get %d s, or until a second signal", calls, _DRAIN)

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    @override
    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # Windows has none
        return None
    return uvloop.new_event_loop


def _was_no_error(record: logging.LogRecord) -> bool:
    """A reply that we cut on purpose is no failure of the app; its run's line tells why it was cut. A text message on a
    WebSocket that is no UTF-8 is its caller's failure, who is told by the close frame. A handshake that we refuse is
    complete, though uvicorn does not count the refusal."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, ResponseAborted | asyncio.CancelledError | UnicodeDecodeError):
        return False
    return not record.msg.startswith(_REFUSED)
