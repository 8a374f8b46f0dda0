"""The server: HTTP and gRPC on a core, each on a port of its own, in one loop, from the first byte to the last."""

import asyncio
import logging
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override

from deltawire.bootstrap import ports
from deltawire.bootstrap.accepting import Accepting
from deltawire.bootstrap.connection import Connection
from deltawire.bootstrap.core import Core
from deltawire.bootstrap.limits import Config
from deltawire.bootstrap.open_files import allow_open_files
from deltawire.bootstrap.shutdown import Shutdown, Stop
from deltawire.bootstrap.websocket_protocol import WebSocketProtocol
from deltawire.observers import log
from deltawire.observers.log import LogSettings
from deltawire.settings import Settings, say_unless_said
from deltawire.transports.http.app import build_app
from deltawire.transports.http.event_stream import ResponseAborted

if TYPE_CHECKING:
    from deltawire.bootstrap.supervised import Supervisor
    from deltawire.transports.grpc.server import GrpcServer

_PONG_TIMEOUT = 20.0
"""Seconds after which a WebSocket whose caller has not answered a ping is given up."""

_REFUSED = "ASGI callable returned without completing handshake"
_OF_CALLERS = ("Invalid encoding on ", "ExecuteBatchError raised in core by servicer method ")
"""What gRPC logs, with a traceback, of what its callers do."""

logger = logging.getLogger("deltawire")


def configure_logging(settings: LogSettings, *, pid: bool) -> None:
    """The log, without what libraries say of their own."""
    log.configure(settings, pid=pid)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(_was_no_error)
    logging.getLogger("grpc._cython.cygrpc").addFilter(_is_ours)


def build_http(core: Core, settings: Settings) -> ASGIApp:
    local = is_loopback(settings.host)
    return build_app(core.engine, settings.http, on_loopback=local, article_function=settings.article_function)


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def serve(
    core: Core,
    settings: Settings,
    bound: socket.socket | None,
    ready: Callable[[], None],
    supervisor: "Supervisor | None" = None,
) -> None:
    """Serve until SIGINT or SIGTERM; a second one ends at once. ``bound`` is HTTP's socket, where HTTP is served.
    ``ready`` is called when calls are accepted. One of several workers has a ``supervisor``, which tells it when to
    end, and shares the gRPC port. Raises ``DeclarationError`` where that is not to be had."""
    allow_open_files(settings.max_runs)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(core, settings, bound, ready, supervisor))


async def _serve(
    core: Core,
    settings: Settings,
    bound: socket.socket | None,
    ready: Callable[[], None],
    supervisor: "Supervisor | None",
) -> None:
    stop = Stop()
    http = rpc = None
    try:
        if supervisor is not None:
            await supervisor.listen(stop)
        if settings.grpc_port:
            rpc = await _grpc_started(core, settings, shared=supervisor is not None)
        if bound is not None:
            http = _Server(_http_config(core, settings), ready, shared=supervisor is not None)
        stop.on_signals(second_at_once=supervisor is None)
        if bound is None:
            ready()
        async with asyncio.TaskGroup() as serving:
            if http is not None and bound is not None:
                serving.create_task(_serve_http(http, bound, stop))
            serving.create_task(Shutdown(core.engine, settings, http, rpc).run(stop))
    finally:
        # What has not ended by then, such as a request that never was complete, does before its provider is taken away.
        if http is not None:
            tasks = list(http.server_state.tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if rpc is not None:
            await rpc.close()
        await core.close()
        if supervisor is not None:
            await supervisor.close()


async def _serve_http(http: "_Server", bound: socket.socket, stop: Stop) -> None:
    try:
        await http.serve(sockets=[bound])
    finally:
        stop.http_over.set()


def import_grpc() -> "type[GrpcServer]":
    """It takes time and memory: only where it is served."""
    # Read by gRPC when it is imported: it would write lines of its own to stderr, which are no JSON. What concerns a
    # call, its caller is told.
    say_unless_said("GRPC_VERBOSITY", "NONE")
    from deltawire.transports.grpc.server import GrpcServer

    return GrpcServer


async def _grpc_started(core: Core, settings: Settings, *, shared: bool) -> "GrpcServer":
    if not shared:
        ports.must_be_free(settings.host, settings.grpc_port)
    server = import_grpc()(core.engine, settings.grpc, settings.article_function, shared=shared)
    await server.start(settings.host, settings.grpc_port)
    return server


def _http_config(core: Core, settings: Settings) -> uvicorn.Config:
    config = Config(
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
        proxy_headers=False,  # nobody here asks who is calling, and each token would pass through who finds out
        # Longer than the idle time of the usual balancers, which otherwise send a call on a connection that we close.
        timeout_keep_alive=75,
    )
    config.limits = settings.http
    return config


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, which raise the signal once more when everything is closed."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], *, shared: bool) -> None:
        """``shared``: other processes take connections from the same socket."""
        super().__init__(config)
        self._ready = ready
        self._shared = shared

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([] if self._shared else sockets)
        if self._shared:
            accepting = [Accepting(listening, self._protocol) for listening in sockets or ()]
            self.servers: list[Any] = [*accepting]
            for one in accepting:
                one.start()
        self._ready()

    def _protocol(self) -> Connection:
        return Connection(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

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


def _is_ours(record: logging.LogRecord) -> bool:
    """What a caller sends beside its message, and nobody here reads, need not be text; and a caller may leave while it
    is being answered."""
    return not record.msg.startswith(_OF_CALLERS)
