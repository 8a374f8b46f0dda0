"""What a run of the benchmark has found, as one plain structure that is written as JSON and read again.

``servers[row][measurement]`` is a list with a `Figure` for each round. ``METRICS`` says what the values are called, of
which measurement they are, and in which unit.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec

MOST_FAR_CORE = 0.9
"""Of the core of upstream and callers. Beyond it, they may be the limit that was measured."""


class Figure(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one round of one measurement found of one server."""

    values: dict[str, float] = {}
    """By the names of METRICS; other names are details that no table shows."""
    fault: str | None = None
    """The server lost or altered something, or did not answer: its cost means nothing."""
    void: str | None = None
    """Why the round says nothing of the server: a busy machine, or callers that were the limit."""
    saturated: bool = False
    """The pace was missed, or held only after it was halved (``rate`` says what was held)."""
    far_core: float = 0.0
    """How much of their core upstream and callers used, or waited for while others had it: 0 to 1."""
    disturbance: float = 0.0
    """How long the server's threads waited for its core while others had it, together; 1 is the whole time."""

    @property
    def usable(self) -> bool:
        return self.fault is None and self.void is None and bool(self.values)


class Metric(msgspec.Struct, frozen=True):
    """One column: a value of a measurement."""

    measurement: str
    value: str
    title: str
    unit: str
    digits: int = 1


METRICS: tuple[Metric, ...] = (
    Metric("paced", "micros", "CPU per token, paced", "µs"),
    Metric("bursts", "micros", "CPU per token, bursts", "µs"),
    Metric("one-token", "micros", "CPU per request of one token", "µs", 0),
    Metric("one-token", "p50", "latency of it, p50", "ms", 2),
    Metric("one-token", "p99", "latency of it, p99", "ms", 2),
    Metric("starts", "micros", "CPU per start, 200 at once", "µs", 0),
    Metric("starts", "p50", "time to first token added, p50", "ms"),
    Metric("starts", "p99", "time to first token added, p99", "ms"),
    Metric("memory", "kib", "memory per open stream", "KiB"),
    Metric("paced", "wire_bytes", "bytes per token on the wire", "bytes", 0),
)
MEASUREMENTS: tuple[str, ...] = ("paced", "bursts", "one-token", "starts", "memory")


class Machine(msgspec.Struct, frozen=True):
    cpu: str
    cores: int
    memory_gib: float
    kernel: str
    python: str


class Results(msgspec.Struct):
    """A whole run. ``rounds`` is how many were asked for; memory is measured once."""

    machine: Machine
    versions: dict[str, str]
    """Of the programs and packages that were measured."""
    rounds: int
    date: str
    """When the run began: ISO 8601, UTC, to the minute."""
    short: bool = False
    """The form of a minute, which is for seeing that everything works: its figures are no figures."""
    open_streams: int = 4000
    """At which the memory was measured."""
    servers: dict[str, dict[str, list[Figure]]] = {}
    imports: dict[str, list[Figure]] = {}
    """What starts cost (``imports.py``), by what is started: these are no servers under load."""
    about: dict[str, str] = {}
    """What a reader of a row's figures has to know."""
    skipped: dict[str, str] = {}
    """Rows that could not be measured here, and why."""
    verdicts: list[str] = []
    """A line for each target; each ends in ``pass``, ``miss``, or ``open``: the other server was not measured."""

    def add(self, server: str, measurement: str, figure: Figure) -> None:
        self.servers.setdefault(server, {}).setdefault(measurement, []).append(figure)

    def figures(self, server: str, measurement: str) -> list[Figure]:
        return self.servers.get(server, {}).get(measurement, [])

    def write(self, path: Path) -> None:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")

    @classmethod
    def read(cls, path: Path) -> "Results":
        return msgspec.json.decode(path.read_bytes(), type=cls)


class Range(msgspec.Struct, frozen=True):
    """Of one value over the usable rounds."""

    median: float
    least: float
    most: float


def spread(figures: Sequence[Figure], value: str) -> Range | None:
    """None where no usable round has the value."""
    values = [figure.values[value] for figure in figures if figure.usable and value in figure.values]
    return Range(median(values), min(values), max(values)) if values else None
