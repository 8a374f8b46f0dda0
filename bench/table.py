"""What the benchmark prints of each server: medians with their ranges, and what was wrong with the rounds."""

from collections.abc import Sequence

from bench.results import METRICS, Figure, Metric, Range, Results, spread

_MUCH_DISTURBANCE = 0.1
_HEADS = {
    ("paced", "micros"): "µs/token paced",
    ("bursts", "micros"): "µs/token bursts",
    ("one-token", "micros"): "µs/request",
    ("one-token", "p50"): "its p50 ms",
    ("one-token", "p99"): "its p99 ms",
    ("starts", "micros"): "µs/start",
    ("starts", "p50"): "TTFT+ p50 ms",
    ("starts", "p99"): "TTFT+ p99 ms",
    ("memory", "kib"): "KiB/stream",
    ("paced", "wire_bytes"): "bytes/token",
}
"""METRICS as they head a column; ``TTFT+``: the time to first token, less the upstream's own."""


def table(results: Results) -> list[str]:
    """A line for each server, and one for each thing that a reader of its figures has to know."""
    measured = [metric for metric in METRICS if any(metric.measurement in of for of in results.servers.values())]
    rows = [["", *(_HEADS[metric.measurement, metric.value] for metric in measured)]]
    for name, figures in results.servers.items():
        rows.append([name, *(cell(figures.get(metric.measurement, ()), metric) for metric in measured)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  " + "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
    return lines + [f"  {line}" for line in notes(results)]


def cell(figures: Sequence[Figure], metric: Metric) -> str:
    if any(figure.fault is not None for figure in figures):
        return "FAILED"
    found = spread(figures, metric.value)
    if found is None:
        return "void" if figures else ""
    mark = "*" if any(figure.saturated and figure.usable for figure in figures) else ""
    return in_words(found, metric.digits) + mark


def in_words(found: Range, digits: int) -> str:
    """Median, and least to most where there are several."""
    if found.least == found.most:
        return f"{found.median:.{digits}f}"
    return f"{found.median:.{digits}f} ({found.least:.{digits}f}–{found.most:.{digits}f})"


def notes(results: Results) -> list[str]:
    """What was wrong with the rounds of each server."""
    lines: list[str] = []
    for name, measured in results.servers.items():
        lines += [f"{name}, {which}: {note}" for which, figures in measured.items() for note in _notes(figures)]
        disturbance = max(figure.disturbance for figures in measured.values() for figure in figures)
        if disturbance > _MUCH_DISTURBANCE:
            lines.append(f"{name}: waited up to {disturbance:.0%} of the time for its core, which others had")
    return lines


def _notes(figures: Sequence[Figure]) -> list[str]:
    faults = [figure.fault for figure in figures if figure.fault is not None]
    if faults:
        return [f"FAILED in {len(faults)} of {len(figures)} rounds: {faults[0]}"]
    found: list[str] = []
    voids = [figure.void for figure in figures if figure.void is not None]
    saturated = [figure for figure in figures if figure.saturated and figure.void is None]
    together = max(figure.values.get("together", 0) for figure in figures)
    if voids:
        found.append(f"{len(voids)} of {len(figures)} rounds void: {voids[0]}")
    if saturated:
        rate = min(figure.values.get("rate", 0) for figure in saturated)
        found.append(f"* saturated in {len(saturated)} of {len(figures)} rounds; down to {rate:g} tokens a second")
    if together > 0.01:
        found.append(f"up to {together:.0%} of the tokens came together with others")
    return found
