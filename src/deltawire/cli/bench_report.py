"""What a benchmark says: before it begins, while it runs (on a terminal), and at the end, as a page or as JSON."""

import asyncio
import sys
from time import perf_counter
from types import TracebackType
from typing import Self

import msgspec
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deltawire.callers.answer import Call
from deltawire.callers.arrival import Arrival
from deltawire.callers.figures import Counts, Figures, Spread
from deltawire.callers.load import Load
from deltawire.callers.wires import WIRES
from deltawire.cli.terminal import Asides, one_line

_UNCUT = 1000
"""Columns in a pipe: nothing is wrapped there."""
_EVERY = 0.2
_TRAPS = 'docs/clients.md, "Traps"'


class Screen:
    """stderr, while it runs. On a terminal a line tells how far it is; it is gone at the end."""

    def __init__(self, load: Load, url: str, wire: str) -> None:
        self.wire = wire
        self.asked: dict[str, object] = {}
        self._load = load
        self._url = url
        self._live = sys.stderr.isatty() and not Console(file=sys.stderr).is_dumb_terminal
        self._timer: asyncio.TimerHandle | None = None

    def announce(self, call: Call) -> None:
        plan = self._load.plan
        self.asked = {
            "url": self._url,
            "function": call.function,
            "wire": self.wire,
            "callers": plan.callers,
            "requests": plan.requests,
            "seconds": plan.seconds,
        }
        calls = "calls" if plan.requests is None else _many(plan.requests, "call")
        span = "" if plan.seconds is None else f", started within {plan.seconds:g} s"
        said = f"{calls} of '{call.function}' at {self._url} over {WIRES[self.wire].means}{span}"
        Asides(sys.stderr).line(f"{said}, by {_many(plan.callers, 'caller')} at once; Ctrl-C ends it")

    def __enter__(self) -> Self:
        if self._live:
            self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _draw(self) -> None:
        load = self._load
        ended = len(load.answers)
        of = "" if load.plan.requests is None else f" of {load.plan.requests}"
        failed = f" · {load.failed} failed" if load.failed else ""
        passed = perf_counter() - load.began if load.began else 0.0
        line = f"  {ended}{of} ended · {load.under_way} under way{failed} · {passed:.0f} s"
        sys.stderr.write(f"\r\x1b[K{line[: Console(file=sys.stderr).width - 1]}")
        sys.stderr.flush()
        self._timer = asyncio.get_running_loop().call_later(_EVERY, self._draw)


def print_json(figures: Figures, asked: dict[str, object]) -> None:
    encoded = msgspec.json.encode({"asked": asked, **msgspec.structs.asdict(figures)})
    if sys.stdout.isatty():
        encoded = msgspec.json.format(encoded, indent=2)
    sys.stdout.buffer.write(encoded + b"\n")
    sys.stdout.buffer.flush()


def show(figures: Figures) -> None:
    if sys.stdout.isatty():
        Console(highlight=False).print(_page(figures))
        return
    console = Console(width=_UNCUT, highlight=False, color_system=None)
    with console.capture() as drawn:
        console.print(_page(figures))
    for line in drawn.get().splitlines():
        print(line.rstrip())


def _page(figures: Figures) -> RenderableType:
    parts: list[RenderableType] = ["", _outcome(figures)]
    if figures.ok:
        parts += ["", _times(figures)]
        about = _about(figures)
        parts += ["", about] if about.row_count else []
    if figures.failures:
        parts += ["", _failures(figures)]
    parts += [Padding(note, (1, 0, 0, 2)) for note in _notes(figures)]
    return Group(*parts, "")


def _outcome(figures: Figures) -> Table:
    table = _facts()
    failed = Text(f"{figures.failed} failed", "bold red" if figures.failed else "")
    unfinished = f", {figures.unfinished} not finished" if figures.unfinished else ""
    ok = Text(f"{figures.ok} ok", "bold green" if figures.ok else "")
    table.add_row("calls", Text.assemble(ok, ", ", failed, f"{unfinished}, in {_time(figures.seconds)}"))
    if figures.ok:
        pieces = f", {_number(figures.pieces_per_second)} pieces/s" if figures.pieces else ""
        table.add_row("rate", f"{_number(figures.runs_per_second)} runs/s{pieces}")
    if figures.pieces and figures.arrival is not None and figures.arrival.verdict != "at once":
        table.add_row("open at once", _many(figures.open_at_once, "stream"))
    return table


def _times(figures: Figures) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column("", style="bold")
    for name in ("p50", "p90", "p99", "max"):
        table.add_column(name, justify="right", no_wrap=True)
    rows: list[tuple[str, Spread | None]] = [
        ("connect", figures.connect),
        ("first token", figures.first_piece),
        ("between pieces", figures.gap),
        ("whole answer", figures.whole),
    ]
    for name, spread in rows:
        if spread is not None:
            table.add_row(f"  {name}", *map(_time, (spread.p50, spread.p90, spread.p99, spread.max)))
    return table


def _about(figures: Figures) -> Table:
    table = _facts()
    if figures.pieces:
        tokens = f" and {_range(figures.tokens)} tokens" if figures.tokens else ""
        table.add_row("an answer", f"{_range(figures.pieces)} pieces{tokens}")
    elif figures.tokens:
        table.add_row("an answer", f"{_range(figures.tokens)} tokens")
    if figures.bytes_per_token is not None:
        table.add_row("a token" if figures.tokens else "a piece", f"{figures.bytes_per_token:.0f} bytes on the wire")
    if figures.arrival is not None:
        table.add_row("arrival", _arrival(figures.arrival))
    if figures.between:
        table.add_row("on the way", Text(one_line(", ".join(figures.between))))
    return table


def _arrival(arrival: Arrival) -> Text:
    of = "" if arrival.agreeing == arrival.answers else f" ({arrival.agreeing} of {arrival.answers} answers)"
    pause = _time(arrival.pause or 0.0)
    match arrival.verdict:
        case "one by one":
            return Text(f"one by one{of}", "green")
        case "in clumps":
            return Text(f"in clumps of about {arrival.pieces_in_a_clump:.0f} pieces, one every {pause}{of}", "yellow")
        case "at once":
            return Text(f"all at once, at the end{of}", "bold red")
        case _:
            return Text("not to be told: the answers have too few pieces; ask for longer ones with --input")


_AT_ONCE = f"""\
The pieces were made one after another and came together: something on the way holds each answer back until it is \
whole, as a proxy does that buffers or compresses. Switch that off for this path (nginx: proxy_buffering off; gzip \
off;), see {_TRAPS}. The same measurement at the server itself tells whether it is on the way."""
_IN_CLUMPS = f"""\
Something collects pieces: a proxy with a small buffer, a compressor, or the model's provider, some of which send so \
by themselves. Measure once more at the server itself: if they come one by one there, it is on the way, see {_TRAPS}."""
_BUSY = """\
This process took more than 90 % of a core: the times are partly its own. Take fewer --callers."""


def _notes(figures: Figures) -> list[Text]:
    """In words, what the figures mean, and the way out."""
    notes = {
        _AT_ONCE: figures.arrival is not None and figures.arrival.verdict == "at once",
        _IN_CLUMPS: figures.arrival is not None and figures.arrival.verdict == "in clumps",
        "Stopped early: not one call went well.": figures.stopped_early,
        _BUSY: figures.client_too_busy,
    }
    return [Text(note) for note, said in notes.items() if said]


def _failures(figures: Figures) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True, style="bold red")
    table.add_column(style="bold", overflow="fold")
    table.add_column(overflow="fold")
    for failure in figures.failures:
        table.add_row(f"  {failure.count}", Text(one_line(failure.reason)), Text(one_line(failure.message)))
    return table


def _facts() -> Table:
    table = Table(box=None, show_header=False, padding=(0, 0, 0, 2))
    table.add_column(style="bold", no_wrap=True, min_width=14)
    table.add_column(overflow="fold")
    return table


def _range(counts: Counts) -> str:
    if counts.least == counts.most:
        return f"{counts.most}"
    return f"{counts.median:.0f} ({counts.least}–{counts.most})"


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _number(value: float) -> str:
    """In three digits, or more where it has more before the point."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def _time(seconds: float) -> str:
    """With a unit that suits."""
    if seconds < 0.0009995:
        return f"{seconds * 1e6:.0f} µs"
    return f"{_number(seconds * 1e3)} ms" if seconds < 0.9995 else f"{_number(seconds)} s"
