"""The plots of ``docs/benchmarks.md``: which figures each shows, and in which words a row tells what has none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.report_svg import Group, Plot, PlotRow
from bench.results import Figure, Range, Results, spread

LABELS: Mapping[str, str] = {
    "nginx": "nginx, passing through",
    "bare-grpc": "bare grpc.aio",
    "sse": "deltawire, SSE",
    "ndjson": "deltawire, NDJSON",
    "json": "deltawire, JSON",
    "invoke": "deltawire, /invoke",
    "websocket": "deltawire, WebSocket",
    "connect": "deltawire, Connect",
    "connect-json": "deltawire, Connect JSON",
    "grpc-web": "deltawire, gRPC-Web",
    "grpc": "deltawire, gRPC",
    "usual": "FastAPI + OpenAI SDK",
    "article-a": "blocking client, pauses",
    "litellm": "LiteLLM proxy",
}
"""Of each row of the results, as a reader knows it."""
_GROUPS: Mapping[str, Group] = {
    **dict.fromkeys(("nginx", "bare-grpc"), "limit"),
    **dict.fromkeys(("usual", "article-a", "litellm"), "others"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One plot: ``values`` of a measurement, each by its name in the results and by its name in the legend."""

    file: str
    title: str
    unit: str
    measurement: str
    values: Mapping[str, str]


PLOTS = (
    Shown("paced", "CPU per token, 200 streams of 50 tokens a second", "µs", "paced", {"micros": "median"}),
    Shown("bursts", "CPU per token, 32 callers without pauses", "µs", "bursts", {"micros": "median"}),
    Shown("one-token", "CPU per request of one token", "µs", "one-token", {"micros": "median"}),
    Shown(
        "first-token",
        "Time to the first token when 200 start at once",
        "ms added to the upstream's own",
        "starts",
        {"p50": "p50", "p99": "p99"},
    ),
    Shown("memory", "Memory per open stream", "KiB", "memory", {"kib": "median"}),
)


def label(name: str) -> str:
    return LABELS.get(name, name)


def ordered(names: Sequence[str]) -> list[str]:
    """What takes nothing or little first, then ours, then others; those that nobody has named come last."""
    known = list(LABELS)
    return sorted(names, key=lambda name: known.index(name) if name in known else len(known))


def plot(shown: Shown, results: Results) -> Plot | None:
    """None where no server has a figure."""
    rows = [
        _row(name, figures, shown)
        for name in ordered(list(results.servers))
        if (figures := results.figures(name, shown.measurement))
    ]
    return Plot(shown.title, shown.unit, rows, tuple(shown.values.values())) if any(row.marks for row in rows) else None


def _row(name: str, figures: Sequence[Figure], shown: Shown) -> PlotRow:
    marks = [found for value in shown.values if (found := spread(figures, value)) is not None]
    failed = any(figure.fault is not None for figure in figures)
    if failed or len(marks) < len(shown.values):
        marks = []
    words = " / ".join(f"{rounded(mark.median)}" for mark in marks)
    if len(marks) == 1 and marks[0].least < marks[0].most:
        words += f" ({in_words(marks[0])})"
    if not marks:
        words = "failed" if failed else "no usable round"
    elif held := pace_held(figures):
        words += f", {held}"
    return PlotRow(label(name), _GROUPS.get(name, "ours"), marks, words)


def in_words(found: Range) -> str:
    """Least to most."""
    return f"{rounded(found.least)}–{rounded(found.most)}"


def rounded(value: float) -> str:
    """To three digits, or to the whole number."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def pace_held(figures: Sequence[Figure]) -> str | None:
    """In words, where the asked pace was missed."""
    saturated = [figure for figure in figures if figure.usable and figure.saturated]
    if not saturated:
        return None
    rates = [figure.values["rate"] for figure in saturated if "rate" in figure.values]
    return f"saturated, at {min(rates):g} tokens/s" if rates else "saturated"
