"""What deltawire wants to cost, beside others in the same rounds, and whether it does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.paced import Figure
from bench.table import spread, usable


@dataclass(frozen=True, slots=True)
class Times:
    """Our cost as a multiple of theirs."""

    most: float
    other: str

    def value(self, ours: float, theirs: float) -> float:
        return ours / theirs

    def say(self, values: Sequence[float]) -> str:
        return f"{spread(values)} times {self.other}"

    def __str__(self) -> str:
        return f"{self.most:g} times {self.other}"


@dataclass(frozen=True, slots=True)
class Above:
    """Our cost less theirs, in microseconds."""

    most: float
    other: str

    def value(self, ours: float, theirs: float) -> float:
        return ours - theirs

    def say(self, values: Sequence[float]) -> str:
        return f"{spread(values)} µs above {self.other}"

    def __str__(self) -> str:
        return f"{self.other} + {self.most:g} µs"


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    beside: Times | Above
    micros: float = 0.0
    """A cost that is good enough, however the comparison turns out."""

    def __str__(self) -> str:
        return f"at most {f'{self.micros:g} µs or ' if self.micros else ''}{self.beside}"


TARGETS = (
    Target("sse", Times(4.5, "nginx"), micros=60),
    *(Target(name, Above(15, "sse")) for name in ("ndjson", "websocket", "connect", "grpc-web")),
    Target("connect-json", Above(40, "sse")),
    Target("grpc", Times(2, "bare-grpc")),
)


def verdicts(measured: Mapping[str, Sequence[Figure]]) -> list[str]:
    """A line for each target whose server was measured."""
    return [verdict(target, measured) for target in TARGETS if target.name in measured]


def verdict(target: Target, measured: Mapping[str, Sequence[Figure]]) -> str:
    """The server against its target; rounds in which the other one has a figure too are compared."""
    rounds = measured[target.name]
    good = [figure for figure in usable(rounds) if not figure.saturated]
    if len(good) <= len(rounds) / 2:
        return f"verdict: {target.name} has no figure; target {target}: miss"
    micros = median(figure.micros for figure in good)
    values = [
        target.beside.value(ours.micros, theirs.micros)
        for ours, theirs in zip(rounds, measured.get(target.beside.other, ()), strict=False)
        if ours in good and theirs.micros and usable([theirs])
    ]
    beside = target.beside.say(values) if values else f"{target.beside.other} not measured"
    passed = micros <= target.micros or (bool(values) and median(values) <= target.beside.most)
    return f"verdict: {target.name} {micros:.1f} µs a token, {beside}; target {target}: {'pass' if passed else 'miss'}"
