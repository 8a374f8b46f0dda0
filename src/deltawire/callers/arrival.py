"""Whether the pieces of answers arrive one by one, or held back by something on the way. Pure.

A server of ours sends together what has come together, so pieces that stand apart in a reply were made apart. Where
they come within a millisecond nevertheless, something has collected them: a proxy's buffer, a compressor, or the
provider's own way of sending.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple

from msgspec import Struct

_TOGETHER = 0.001
"""Seconds. A network brings what was sent as one within less."""
_FEWEST = 8
"""Pieces that an answer must have to tell anything."""
_IN_A_CLUMP = 3.0
"""So many pieces together, on the average, are no accident."""
_AT_ONCE = 0.05
"""The part of the whole time in which all pieces of an answer come that was held back."""

Verdict = Literal["one by one", "in clumps", "at once", "unclear"]


class Arrival(Struct, frozen=True, kw_only=True):
    verdict: Verdict
    answers: int
    """How many could be judged."""
    agreeing: int
    """How many of them came in this way."""
    pieces_in_a_clump: float | None = None
    pause: float | None = None
    """Seconds between two clumps, or two pieces; the median of the answers' medians."""


class _One(NamedTuple):
    verdict: Verdict
    in_a_clump: float
    pause: float


def judge(answers: Iterable[tuple[float, Sequence[float], float]]) -> Arrival:
    """``answers`` have the times when each was sent, when its pieces came, and when it ended."""
    judged = [_one(*answer) for answer in answers if len(answer[1]) >= _FEWEST]
    if not judged:
        return Arrival(verdict="unclear", answers=0, agreeing=0)
    verdicts: Counter[Verdict] = Counter(one.verdict for one in judged)
    [(verdict, agreeing)] = verdicts.most_common(1)
    alike = [one for one in judged if one.verdict == verdict]
    return Arrival(
        verdict=verdict,
        answers=len(judged),
        agreeing=agreeing,
        pieces_in_a_clump=round(median(one.in_a_clump for one in alike), 1),
        pause=median(one.pause for one in alike),
    )


def _one(sent: float, pieces: Sequence[float], ended: float) -> _One:
    pauses = [gap for before, after in pairwise(pieces) if (gap := after - before) > _TOGETHER]
    in_a_clump = len(pieces) / (len(pauses) + 1)
    pause = median(pauses) if pauses else 0.0
    if in_a_clump < _IN_A_CLUMP:
        return _One("one by one", in_a_clump, pause)
    if pieces[-1] - pieces[0] < _AT_ONCE * (ended - sent):
        return _One("at once", in_a_clump, pause)
    return _One("in clumps", in_a_clump, pause)
