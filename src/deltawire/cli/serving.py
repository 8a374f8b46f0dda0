"""From the flags to a server that runs: what ``deltawire serve`` does, in one process or in each of several."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from socket import socket

    from deltawire.settings import Settings


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line said; ``None`` is what it did not say."""

    app: str | None = None
    host: str | None = None
    port: str | None = None
    grpc_port: str | None = None
    model: str | None = None
    log_format: str | None = None
    workers: str | None = None

    def settings(self) -> "Settings":
        """Raises ``DeclarationError``."""
        from deltawire.settings import Settings

        log = None if self.log_format is None else {"format": self.log_format}
        return Settings.load(
            app=self.app, host=self.host, port=self.port, grpc_port=self.grpc_port, workers=self.workers, log=log
        )


def serve_until_stopped(
    flags: Flags,
    settings: "Settings",
    bound: "socket | None" = None,
    *,
    brief: bool = False,
    between: "socket | None" = None,
) -> None:
    """``bound`` is a socket that listens already, ``between`` a worker's to its supervisor, and ``brief`` is for what
    has been announced before. Raises ``DeclarationError`` for what cannot work."""
    from deltawire.bootstrap import server
    from deltawire.bootstrap.article import check_article_function
    from deltawire.bootstrap.core import build_core
    from deltawire.bootstrap.load import load_functions
    from deltawire.bootstrap.resolve import resolved
    from deltawire.bootstrap.supervised import Supervisor
    from deltawire.cli.app import app_of
    from deltawire.cli.banner import announce, rendered
    from deltawire.observers.log import RunLog

    server.configure_logging(settings.log, pid=between is not None)
    if settings.grpc_port:
        server.import_grpc()  # before the app, whose folder comes first where modules are looked for from then on
    functions = load_functions(app_of(settings, "serve shop.py"))
    check_article_function(functions, settings)
    supervisor = None if between is None else Supervisor(between)
    shared = None if supervisor is None else supervisor.model
    core = build_core(functions, settings, [RunLog()], model=flags.model, shared=shared)
    served = resolved(functions, settings, flags.model)
    tell = supervisor.ready if supervisor is not None else partial(announce, settings=settings)
    listening = bound if bound is not None or supervisor is not None else listen(settings)
    server.serve(
        core, settings, listening, lambda: tell([*served], rendered(served, settings, brief=brief)), supervisor
    )


def listen(settings: "Settings") -> "socket | None":
    """HTTP's socket, where HTTP is served. Raises ``DeclarationError`` where a port is not to be had."""
    from deltawire.bootstrap import ports
    from deltawire.domain.errors import DeclarationError

    if settings.port == 0 and settings.grpc_port == 0:
        raise DeclarationError("both ports are off: there is nothing to serve; leave one of --port and --grpc-port out")
    bound = ports.listen(settings.host, settings.port) if settings.port else None
    try:
        if settings.grpc_port:
            ports.must_be_free(settings.host, settings.grpc_port)
    except DeclarationError:
        if bound is not None:
            bound.close()
        raise
    return bound
