"""``deltawire doctor``: whether what is configured will work, as a table or as JSON. Exit code 1 where it will not."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from deltawire.bootstrap.doctor.report import Report


def doctor(
    app: Annotated[
        str | None, typer.Argument(metavar="APP", help="The file with the functions, or its module's name.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="As JSON, with the settings that have their defaults.")
    ] = False,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="provider:model, instead of those that are set.")
    ] = None,
    no_call: Annotated[bool, typer.Option("--no-call", help="Ask no model: nothing leaves this machine.")] = False,
) -> None:
    """Check settings, secrets, models and limits; each model is asked once, for 16 tokens at most."""
    from deltawire.bootstrap.doctor.examine import examine
    from deltawire.cli.terminal import Asides
    from deltawire.cli.version import version

    asides = Asides(sys.stderr)
    report = examine(
        version(),
        app=app,
        model=model,
        call=not no_call,
        progress=lambda said: asides.line(said) if sys.stderr.isatty() and not as_json else None,
    )
    if as_json:
        _print_json(report)
    else:
        from deltawire.cli.doctors_report import show

        show(report)
    raise typer.Exit(0 if report.is_well else 1)


def _print_json(report: "Report") -> None:
    import msgspec

    encoded = msgspec.json.encode({"ok": report.is_well, **msgspec.structs.asdict(report)})
    if sys.stdout.isatty():
        encoded = msgspec.json.format(encoded, indent=2)
    sys.stdout.buffer.write(encoded + b"\n")
    sys.stdout.buffer.flush()
