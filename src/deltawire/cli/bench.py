"""``deltawire bench URL``: calls a deployment, through whatever stands before it, and tells how its answers arrive.

Bounded unless told otherwise, since somebody pays for the calls. Exit code 1 where one has failed.
"""

import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from deltawire.callers.answer import Call
    from deltawire.callers.deployment import Deployment
    from deltawire.callers.listing import Listed
    from deltawire.callers.load import Load
    from deltawire.cli.bench_report import Screen

_USUAL_CALLERS = 4
_USUAL_REQUESTS = 20
_MOST_CALLERS = 1000
_MOST_REQUESTS = 10_000
_MOST_SECONDS = 600.0


def bench(
    url: Annotated[str, typer.Argument(metavar="URL", help="The deployment, as its callers reach it.")],
    function: Annotated[
        str | None, typer.Option(metavar="NAME", help="Left out, the only one there is, or 'chat'.")
    ] = None,
    given: Annotated[
        str | None, typer.Option("--input", metavar="JSON", help="Left out, a short one; - reads it from stdin.")
    ] = None,
    callers: Annotated[
        int, typer.Option(metavar="N", min=1, max=_MOST_CALLERS, help="How many call at once.")
    ] = _USUAL_CALLERS,
    requests: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=_MOST_REQUESTS, help=f"Calls in all: {_USUAL_REQUESTS} without --seconds."
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(metavar="S", min=0.1, max=_MOST_SECONDS, help="Calls are started for so long."),
    ] = None,
    wire: Annotated[
        str, typer.Option(metavar="WIRE", help="sse, ndjson, text, json, invoke, ws, connect, grpc-web, grpc.")
    ] = "sse",
    header: Annotated[
        list[str] | None, typer.Option(metavar="LINE", help="'name: value', sent with each call; repeatable.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(metavar="N", min=1, help="The longest answer.")] = None,
    timeout: Annotated[
        float, typer.Option(metavar="S", min=0.1, max=_MOST_SECONDS, help="The longest that one call may take.")
    ] = 120.0,
    as_json: Annotated[bool, typer.Option("--json", help="The figures as JSON; times in seconds.")] = False,
) -> None:
    """Call a deployment and measure how its answers arrive; each call is paid for like any other."""
    from deltawire.callers.deployment import Deployment, headers_from
    from deltawire.callers.figures import figures
    from deltawire.callers.load import Load, Plan
    from deltawire.callers.wires import WIRES
    from deltawire.cli import bench_report
    from deltawire.domain.errors import DeclarationError

    if wire not in WIRES:
        raise DeclarationError(f"no wire named '{wire}'; known: {', '.join(WIRES)}")
    if requests is None and seconds is None:
        requests = _USUAL_REQUESTS
    load = Load(Plan(min(callers, requests or callers), requests, seconds, timeout))
    deployment = Deployment(url, headers_from(header or []))
    screen = bench_report.Screen(load, deployment.shown, wire)
    if not _run(_measured(load, deployment, (function, _read(given), max_tokens), screen)):
        raise typer.Exit(1)
    measured = figures(load, streams=WIRES[wire].streams)
    if as_json:
        bench_report.print_json(measured, screen.asked)
    else:
        bench_report.show(measured)
    if load.interrupted:
        raise KeyboardInterrupt
    raise typer.Exit(0 if measured.ok and not measured.failed else 1)


async def _measured(
    load: "Load", deployment: "Deployment", asked: tuple[str | None, bytes | None, int | None], screen: "Screen"
) -> bool:
    """Whether there is anything to report. Raises ``DeclarationError`` for what cannot be asked."""
    from deltawire.callers.answer import CallFailedError
    from deltawire.callers.wires import caller
    from deltawire.cli.terminal import complain

    try:
        call = await _call(deployment, *asked, seconds=load.plan.timeout, over_grpc=screen.wire == "grpc")
    except CallFailedError as error:
        complain(f"{deployment.shown}: {error.message}")
        return False
    finally:
        await deployment.dialer.close()
    screen.announce(call)
    with screen:
        await load.run(call, lambda: caller(screen.wire, deployment))
    await deployment.dialer.close()
    return True


async def _call(
    deployment: "Deployment",
    function: str | None,
    given: bytes | None,
    max_tokens: int | None,
    *,
    seconds: float,
    over_grpc: bool,
) -> "Call":
    """Where both function and input are named, nobody is asked for them. Raises ``CallFailedError``."""
    from deltawire.callers.answer import Call
    from deltawire.callers.listing import listed

    if function is None or given is None:
        chosen = _chosen(function, await listed(deployment, seconds, over_grpc=over_grpc))
        function = chosen.name
        given = _sample(chosen) if given is None else given
    return Call(function, given, max_tokens)


def _sample(function: "Listed") -> bytes:
    import msgspec

    from deltawire.cli.sample import sample_input
    from deltawire.domain.errors import DeclarationError

    try:
        return msgspec.json.encode(sample_input(function.input))
    except (LookupError, TypeError, AttributeError):  # somebody else's schema
        raise DeclarationError(f"what '{function.name}' takes is not clear from its schema: give it --input") from None


def _chosen(name: str | None, known: "list[Listed]") -> "Listed":
    from deltawire.domain.errors import DeclarationError

    by_name = {function.name: function for function in known}
    if not by_name:
        raise DeclarationError("that server has no functions")
    if name is None and len(by_name) == 1:
        return known[0]
    wanted = "chat" if name is None else name
    if wanted not in by_name:
        which = "which function? Name one with --function" if name is None else f"no function named '{name}' there"
        raise DeclarationError(f"{which}; known: {', '.join(repr(one) for one in by_name)}")
    return by_name[wanted]


def _read(given: str | None) -> bytes | None:
    """Raises ``DeclarationError`` for an input that is no JSON."""
    if given is None:
        return None
    import msgspec

    from deltawire.domain.errors import DeclarationError

    encoded = sys.stdin.buffer.read() if given == "-" else given.encode(errors="surrogateescape")
    try:
        encoded.decode()
        msgspec.json.decode(encoded)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise DeclarationError(f"the input is not JSON: {error}") from None
    return encoded


def _run(main: Coroutine[Any, Any, bool]) -> bool:
    """In uvloop where there is one: what the loop takes is time that the server is blamed for."""
    import asyncio

    try:
        import uvloop
    except ImportError:  # Windows
        return asyncio.run(main)
    return uvloop.run(main)
