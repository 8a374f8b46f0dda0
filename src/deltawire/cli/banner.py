"""What ``deltawire serve`` says once calls are accepted: for a person a banner, for a machine one line of JSON."""

import json
import logging
import shlex
import sys
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deltawire.bootstrap.resolve import Resolved
from deltawire.cli.sample import sample_input
from deltawire.cli.version import version
from deltawire.domain.function import Function
from deltawire.settings import Settings

logger = logging.getLogger("deltawire")

Served = Mapping[str, Resolved]

_UNCUT = 1000
"""Columns where nobody looks: lines are as long as they are."""
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def announce(functions: Sequence[str], banner: str, settings: Settings) -> None:
    """``banner`` is what ``rendered`` made: not always in the process that shows it."""
    if not settings.log.as_json:
        print(banner, end="", file=sys.stderr, flush=True)
        return
    # A log tells what is so, not what can be pasted.
    http = {"address": _url(settings.host, settings.port)} if settings.port else {}
    rpc = {"grpc": _target(settings.host, settings.grpc_port)} if settings.grpc_port else {}
    workers = {"workers": settings.workers} if settings.workers > 1 else {}
    fields = {"message": "listening", **http, **rpc, **workers, "functions": [*functions]}
    logger.info("listening", extra={"fields": fields})


def rendered(served: Served, settings: Settings, *, brief: bool = False) -> str:
    """For this stderr. ``brief`` is for a server that has been announced before."""
    if sys.stderr.isatty():
        console = Console(file=sys.stderr, highlight=False)
    else:
        console = Console(width=_UNCUT, highlight=False, color_system=None)
    with console.capture() as said:
        _say(console, served, settings, brief=brief)
    if console.is_terminal:
        return said.get()
    return "".join(f"{line.rstrip()}\n" for line in said.get().splitlines())


def _say(console: Console, served: Served, settings: Settings, *, brief: bool) -> None:
    host = _ANY.get(settings.host, settings.host)
    places = {
        "http": _url(host, settings.port) if settings.port else None,
        "grpc": _target(host, settings.grpc_port) if settings.grpc_port else None,
    }
    if brief:
        where = " and ".join(place for place in places.values() if place)
        said = Text.assemble(("deltawire ", "bold"), f"serves {', '.join(served)} at ", (where, "cyan"))
        console.print(said, soft_wrap=True)
        return
    console.print()
    console.print(Text.assemble("  ", ("deltawire", "bold"), (f" {version()}", "dim")))
    console.print()
    console.print(_functions(served))
    console.print()
    for wire, place in {"page": _page(host, settings), **places}.items():
        if place:
            how = "  in TLS" if wire == "grpc" and settings.grpc.tls_cert else ""
            console.print(Text.assemble("  ", (wire, "bold"), "  ", (place, "cyan"), how))
    if settings.workers > 1:
        console.print(Text(f"        by {settings.workers} workers", style="dim"))
    if settings.host in _ANY:
        console.print(Text("        open to every network of this machine, and asking nobody for a key", style="dim"))
    console.print()
    # Never wrapped by us: what is copied must be what is pasted.
    function = next(iter(served.values())).function
    sample = call(function, address_of(settings)) if settings.port else _grpc_call(function, settings)
    console.print(Text(f"  Try it:\n\n{sample}\n"), soft_wrap=True)


def _page(host: str, settings: Settings) -> str | None:
    """Where a browser finds the playground, if there is one."""
    from deltawire.transports.http.playground import is_built  # who watches over workers loads no server

    return f"{_url(host, settings.port)}/" if settings.port and settings.http.playground and is_built() else None


def address_of(settings: Settings) -> str:
    """One that can be called from this machine."""
    return _url(_ANY.get(settings.host, settings.host), settings.port)


def _url(host: str, port: int) -> str:
    return f"http://{_target(host, port)}"


def _target(host: str, port: int) -> str:
    return f"{f'[{host}]' if ':' in host else host}:{port}"


def call(function: Function, address: str) -> str:
    """A curl command for the function, ready to be pasted: it streams."""
    body = json.dumps({"input": sample_input(function.input_schema())}, ensure_ascii=False)
    return (
        f"  curl -N {address}/v1/functions/{function.name} \\\n"
        f"    -H 'accept: text/event-stream' -H 'content-type: application/json' \\\n"
        f"    -d {shlex.quote(body)}"
    )


def _grpc_call(function: Function, settings: Settings) -> str:
    """The same for grpcurl, which learns the messages by reflection."""
    given = json.dumps(sample_input(function.input_schema()), ensure_ascii=False)
    body = json.dumps({"function": function.name, "input_json": given}, ensure_ascii=False)
    plain = "" if settings.grpc.tls_cert else " -plaintext"
    target = _target(_ANY.get(settings.host, settings.host), settings.grpc_port)
    return f"  grpcurl{plain} \\\n    -d {shlex.quote(body)} \\\n    {target} deltawire.v1.Functions/Stream"


def _functions(served: Served) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 0, 0, 2), expand=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(style="green", no_wrap=True)
    table.add_column(style="dim", no_wrap=True, overflow="ellipsis", ratio=1)  # gives way to the other two
    for name, found in served.items():
        table.add_row(name, Text(found.models), Text(found.function.description.partition("\n")[0]))
    return table
