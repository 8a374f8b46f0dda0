"""``deltawire list``: the functions of an app, as a table or as JSON. Needs no key and starts nothing."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from deltawire.cli.banner import Served

_UNCUT = 1000
"""Columns in a pipe: nothing is wrapped there."""


def list_functions(
    app: Annotated[
        str | None, typer.Argument(metavar="APP", help="The file with the functions, or its module's name.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, with the schemas of input and output.")] = False,
) -> None:
    """List the functions of a file."""
    from deltawire.bootstrap.load import load_functions
    from deltawire.bootstrap.resolve import resolved
    from deltawire.cli.app import app_of
    from deltawire.settings import Settings

    settings = Settings.load(app=app)
    served = resolved(load_functions(app_of(settings, "list shop.py")), settings)
    if as_json:
        _print_json(served)
        return
    from rich.console import Console

    if sys.stdout.isatty():
        Console(highlight=False).print(_table(served, described_below=True))
        return
    console = Console(width=_UNCUT, highlight=False, color_system=None)
    with console.capture() as drawn:
        console.print(_table(served, described_below=False))
    for line in drawn.get().splitlines():
        print(line.rstrip())


def _table(served: "Served", *, described_below: bool) -> "Table":
    """``described_below`` puts a function's description under its name, to fit a terminal; else each has one line."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from deltawire.cli.signature import signature

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("function", overflow="fold")
    table.add_column("output", overflow="fold", style="cyan")
    table.add_column("model", overflow="fold", style="green")
    if not described_below:
        table.add_column("description")
    for name, found in served.items():
        function = found.function
        described = function.description.partition("\n")[0]
        called = Text.assemble((name, "bold"), signature(function))
        if described_below:
            called.append(f"\n{described}", style="dim")
        cells = [called, Text(function.output.name), Text(found.models)]
        table.add_row(*cells, *([] if described_below else [Text(described)]), end_section=described_below)
    return table


def _print_json(served: "Served") -> None:
    import msgspec

    listed = [
        {
            "name": name,
            "description": found.function.description,
            "variants": [{"variant": way.variant, "weight": way.weight, "models": way.models} for way in found.ways],
            "input": found.function.input_schema(),
            "output": found.function.output.json_schema(),
        }
        for name, found in served.items()
    ]
    encoded = msgspec.json.encode({"functions": listed})
    if sys.stdout.isatty():
        encoded = msgspec.json.format(encoded, indent=2)
    sys.stdout.buffer.write(encoded + b"\n")
    sys.stdout.buffer.flush()
