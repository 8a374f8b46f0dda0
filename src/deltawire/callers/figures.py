"""What a load has measured, as plain values. Times are in seconds, all of them of calls that went well."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from math import ceil
from statistics import median

from msgspec import Struct

from deltawire.callers.answer import Answer
from deltawire.callers.arrival import Arrival, judge
from deltawire.callers.load import Load

_BUSY = 0.9


class Spread(Struct, frozen=True):
    p50: float
    p90: float
    p99: float
    max: float


class Counts(Struct, frozen=True):
    least: int
    median: float
    most: int


class Failures(Struct, frozen=True):
    reason: str
    count: int
    message: str
    """The first one's."""


class Figures(Struct, frozen=True, kw_only=True):
    ok: int
    failed: int
    unfinished: int
    """Calls that were under way when the whole was interrupted."""
    seconds: float
    runs_per_second: float
    pieces_per_second: float
    open_at_once: int
    """Streams that had begun and not ended, at the most at one time."""
    connect: Spread | None
    """Of new connections, with the look-up of the name and with TLS; not over again for each call."""
    first_piece: Spread | None
    """Since the request was sent, on a connection that stands; of text or reasoning."""
    gap: Spread | None
    """Between two pieces of one answer."""
    whole: Spread | None
    pieces: Counts | None
    tokens: Counts | None
    bytes_per_token: float | None
    """Heads and framing among them. By piece, where no provider counted tokens."""
    arrival: Arrival | None
    """``None`` on a wire that brings answers whole."""
    between: list[str]
    """Headers in which proxies on the way have named themselves."""
    failures: list[Failures]
    stopped_early: bool
    """Whether calls were left out, since all before them had failed."""
    client_too_busy: bool
    """Whether this process was so busy that the times are partly its own."""


def figures(load: Load, *, streams: bool) -> Figures:
    good = [answer for answer in load.answers if answer.failure is None]
    seconds = max(load.ended - load.began, 1e-9)
    tokens = [answer.tokens for answer in good if answer.tokens is not None]
    pieces = [len(answer.pieces) for answer in good]
    begun = [answer for answer in good if answer.pieces]
    gaps = (after - before for answer in begun for before, after in pairwise(answer.pieces))
    units = sum(tokens) if tokens and len(tokens) == len(good) else sum(pieces)
    return Figures(
        ok=len(good),
        failed=load.failed,
        unfinished=load.started - len(load.answers),
        seconds=seconds,
        runs_per_second=len(good) / seconds,
        pieces_per_second=sum(pieces) / seconds,
        open_at_once=most_at_once(load.answers),
        connect=_spread(answer.dialing for answer in load.answers if answer.dialing is not None),
        first_piece=_spread(answer.pieces[0] - answer.sent for answer in begun),
        gap=_spread(gaps),
        whole=_spread(answer.ended - answer.sent for answer in good),
        pieces=_counts(pieces) if streams else None,
        tokens=_counts(tokens),
        bytes_per_token=sum(answer.received for answer in good) / units if units else None,
        arrival=judge((answer.sent, answer.pieces, answer.ended) for answer in good) if streams and good else None,
        between=sorted({line for answer in load.answers for line in answer.between}),
        failures=_failures(load.answers),
        stopped_early=load.hopeless and load.started != load.plan.requests,
        client_too_busy=load.busy > _BUSY,
    )


def most_at_once(answers: Iterable[Answer]) -> int:
    changes = [change for answer in answers if answer.pieces for change in ((answer.pieces[0], 1), (answer.ended, -1))]
    # At one time, a beginning goes before an end: an answer that comes as a whole is open, too.
    ordered = sorted(changes, key=lambda change: (change[0], -change[1]))
    return max(accumulate(change for _, change in ordered), default=0)


def _spread(values: Iterable[float]) -> Spread | None:
    """By nearest rank: each is a value that was measured."""
    ordered = sorted(values)
    if not ordered:
        return None
    p50, p90, p99 = (ordered[ceil(part / 100 * len(ordered)) - 1] for part in (50, 90, 99))
    return Spread(p50, p90, p99, ordered[-1])


def _counts(values: Sequence[int]) -> Counts | None:
    return Counts(min(values), median(values), max(values)) if values else None


def _failures(answers: Iterable[Answer]) -> list[Failures]:
    """The commonest first."""
    counts: dict[str, int] = {}
    first: dict[str, str] = {}
    for answer in answers:
        if (failure := answer.failure) is not None:
            counts[failure.reason] = counts.get(failure.reason, 0) + 1
            first.setdefault(failure.reason, failure.message)
    return [Failures(reason, counts[reason], first[reason]) for reason in sorted(counts, key=lambda one: -counts[one])]
