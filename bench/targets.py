"""What deltawire wants to cost, beside others in the same rounds, and whether it does."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.results import METRICS, Figure, Range, Results, spread
from bench.table import in_words


@dataclass(frozen=True, slots=True)
class Times:
    """At most so many times theirs."""

    most: float
    other: str

    def value(self, ours: float, theirs: float) -> float:
        return ours / theirs

    def holds(self, value: float) -> bool:
        return value <= self.most

    def say(self, found: Range) -> str:
        return f"{in_words(found, 1)} times {self.other}"

    def __str__(self) -> str:
        return f"at most {self.most:g} times {self.other}"


@dataclass(frozen=True, slots=True)
class Above:
    """At most so much above theirs, in the metric's unit."""

    most: float
    other: str

    def value(self, ours: float, theirs: float) -> float:
        return ours - theirs

    def holds(self, value: float) -> bool:
        return value <= self.most

    def say(self, found: Range) -> str:
        return f"{in_words(found, 1)} above {self.other}"

    def __str__(self) -> str:
        return f"at most {self.other} + {self.most:g}"


@dataclass(frozen=True, slots=True)
class Less:
    """At least so many times less than theirs."""

    least: float
    other: str

    def value(self, ours: float, theirs: float) -> float:
        return theirs / ours

    def holds(self, value: float) -> bool:
        return value >= self.least

    def say(self, found: Range) -> str:
        return f"{in_words(found, 1)} times less than {self.other}"

    def __str__(self) -> str:
        return f"at least {self.least:g} times less than {self.other}"


@dataclass(frozen=True, slots=True)
class Most:
    """At most so much, in the metric's unit, whatever others need."""

    most: float
    other: None = None

    def holds(self, value: float) -> bool:
        return value <= self.most

    def __str__(self) -> str:
        return f"at most {self.most:g}"


@dataclass(frozen=True, slots=True)
class Target:
    server: str
    measurement: str
    value: str
    bound: Times | Above | Less | Most

    @property
    def name(self) -> str:
        (metric,) = [each for each in METRICS if (each.measurement, each.value) == (self.measurement, self.value)]
        return f"{self.server}, {metric.title}"


TARGETS: tuple[Target, ...] = (
    Target("sse", "paced", "micros", Times(3, "nginx")),
    Target("sse", "paced", "micros", Less(6, "usual")),
    Target("sse", "bursts", "micros", Times(3, "nginx")),
    Target("sse", "bursts", "micros", Less(30, "usual")),
    *(Target(name, "paced", "micros", Above(15, "sse")) for name in ("websocket", "ndjson", "connect", "grpc-web")),
    Target("connect-json", "paced", "micros", Above(40, "sse")),
    Target("grpc", "paced", "micros", Times(2, "bare-grpc")),
    Target("sse", "one-token", "micros", Times(12, "nginx")),
    Target("sse", "one-token", "micros", Less(9, "usual")),
    Target("sse", "starts", "micros", Times(12, "nginx")),
    Target("sse", "memory", "kib", Most(32)),
    Target("sse", "paced", "wire_bytes", Most(60)),
)


def verdicts(results: Results) -> list[str]:
    """A line for each target whose server was measured."""
    return [
        f"verdict: {target.name}: {_verdict(target, results)}"
        for target in TARGETS
        if results.figures(target.server, target.measurement)
    ]


def _verdict(target: Target, results: Results) -> str:
    """The server against its target; only rounds in which the other one has a figure too are compared.

    Without any figure of ours the target is missed; without any round of the other one, it is open."""
    rounds = results.figures(target.server, target.measurement)
    if sum(map(_counts, rounds)) <= len(rounds) / 2:
        return f"no figure; target {target.bound}: miss"
    ours = spread([figure for figure in rounds if _counts(figure)], target.value)
    if ours is None:
        return f"no figure; target {target.bound}: miss"
    bound = target.bound
    if isinstance(bound, Most):
        return f"{in_words(ours, 1)}; target {bound}: {'pass' if bound.holds(ours.median) else 'miss'}"
    values = [
        bound.value(mine.values[target.value], other.values[target.value])
        for mine, other in zip(rounds, _others(bound.other, target, results), strict=False)
        if _counts(mine) and other.usable and other.values[target.value]
    ]
    if not values:
        outcome = "miss" if results.figures(bound.other, target.measurement) else "open"
        return f"{in_words(ours, 1)}, {bound.other} not measured; target {bound}: {outcome}"
    found = Range(median(values), min(values), max(values))
    outcome = "pass" if bound.holds(found.median) else "miss"
    return f"{in_words(ours, 1)}, {bound.say(found)}; target {bound}: {outcome}"


def _others(name: str, target: Target, results: Results) -> Sequence[Figure]:
    """A server that is saturated is at a lower pace, where a token costs it more: it is compared all the same."""
    return results.figures(name, target.measurement)


def _counts(figure: Figure) -> bool:
    return figure.usable and not figure.saturated
