"""From the flags to a server that runs: what ``deltawire serve`` does, with ``--reload`` or without."""

from dataclasses import dataclass
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

    def settings(self) -> "Settings":
        """Raises ``DeclarationError``."""
        from deltawire.settings import Settings

        log = None if self.log_format is None else {"format": self.log_format}
        return Settings.load(app=self.app, host=self.host, port=self.port, grpc_port=self.grpc_port, log=log)


def serve_until_stopped(flags: Flags, bound: "socket | None" = None, *, banner: bool = True) -> None:
    """``bound`` is a socket that listens already. Raises ``DeclarationError`` for what cannot work."""
    from deltawire.bootstrap import server
    from deltawire.bootstrap.article import check_article_function
    from deltawire.bootstrap.core import build_core
    from deltawire.bootstrap.load import load_functions
    from deltawire.bootstrap.resolve import resolved
    from deltawire.cli.app import app_of
    from deltawire.cli.banner import announce
    from deltawire.observers.log import RunLog

    settings = flags.settings()
    server.configure_logging(settings.log)
    if settings.grpc_port:
        server.import_grpc()  # before the app, whose folder comes first where modules are looked for from then on
    functions = load_functions(app_of(settings, "serve shop.py"))
    check_article_function(functions, settings)
    core = build_core(functions, settings, [RunLog()], model=flags.model)
    listening = bound or listen(settings)
    served = resolved(functions, settings, flags.model)
    server.serve(core, settings, listening, lambda: announce(served, settings, brief=not banner))


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
