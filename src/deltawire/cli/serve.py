"""``deltawire serve``: the functions of an app, over HTTP, until Ctrl-C."""

from typing import Annotated

import typer

from deltawire.cli.serving import Flags, serve_until_stopped


def serve(
    app: Annotated[
        str | None, typer.Argument(metavar="APP", help="The file with the functions, or its module's name.")
    ] = None,
    host: Annotated[str | None, typer.Option(metavar="HOST", help="The address to listen on (127.0.0.1).")] = None,
    port: Annotated[str | None, typer.Option(metavar="PORT", help="The HTTP port (8000); 0 or off for none.")] = None,
    grpc_port: Annotated[
        str | None, typer.Option(metavar="PORT", help="The gRPC port (50051); 0 or off for none.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="MODEL", help="provider:model for every function.")] = None,
    workers: Annotated[str | None, typer.Option(metavar="N", help="Processes that serve, on both ports (1).")] = None,
    reload: Annotated[bool, typer.Option("--reload", help="Start anew when a file of the app changes.")] = False,
    log_format: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="text or json (text on a terminal, else json).")
    ] = None,
) -> None:
    """Serve the functions of a file."""
    flags = Flags(app, host, port, grpc_port, model, log_format, workers)
    if reload:
        from deltawire.cli.reload import serve_and_watch

        raise typer.Exit(serve_and_watch(flags))
    settings = flags.settings()
    if settings.workers > 1:
        from deltawire.cli.workers import serve_with_workers

        raise typer.Exit(serve_with_workers(flags, settings))
    serve_until_stopped(flags, settings)
