"""``deltawire``: the commands, and how their errors look."""

import sys
from typing import Annotated

import typer

from deltawire.domain.errors import DeclarationError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def deltawire() -> None:
    """Write an LLM function once; its deltas reach every caller over every wire."""


@app.command()
def serve(
    module: Annotated[str | None, typer.Argument(metavar="APP", help="The file with the functions.")] = None,
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[str | None, typer.Option(help="The HTTP port; 0 or off for none.")] = None,
    grpc_port: Annotated[str | None, typer.Option(help="The gRPC port; 0 or off for none.")] = None,
    model: Annotated[str | None, typer.Option(help="provider:model for all functions.")] = None,
) -> None:
    """Serve the functions of a file."""
    from deltawire.bootstrap.core import build_core
    from deltawire.bootstrap.load import load_functions
    from deltawire.bootstrap.server import configure_logging, listen
    from deltawire.bootstrap.server import serve as serve_core
    from deltawire.observers.log import RunLog
    from deltawire.settings import Settings

    settings = Settings.load(app=module, host=host, port=port, grpc_port=grpc_port)
    configure_logging(settings.log)
    core = build_core(load_functions(settings.app or ""), settings, [RunLog()], model=model)
    bound = listen(settings.host, settings.port)
    serve_core(core, settings, bound, lambda: print(f"http://{settings.host}:{settings.port}", file=sys.stderr))


def main() -> None:
    try:
        app()
    except DeclarationError as error:
        print(f"deltawire: {error}", file=sys.stderr)
        sys.exit(2)
