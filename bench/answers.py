"""What became of the streams: whether their text is what was sent, and whether the tokens came one by one."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.tokens import count_exact


@dataclass(frozen=True, slots=True)
class Answers:
    fault: str | None = None
    together: float = 0.0
    """Share of the tokens that came in one event with another: 0 to 1."""


def checked(streams: Sequence[list[str]] | str, sent: list[int]) -> Answers:
    """Each stream's pieces of text, against how many tokens were sent to each (in ascending order); or what was wrong
    with one of them."""
    if isinstance(streams, str):
        return Answers(streams)
    counts = [count_exact("".join(pieces)) for pieces in streams]
    whole = sorted(count for count in counts if count is not None)
    if len(whole) < len(counts):
        return Answers("a stream whose text is not what was sent")
    if whole != sent:
        return Answers(f"{sum(sent) - sum(whole)} tokens lost")
    return Answers(together=1 - sum(map(len, streams)) / max(sum(whole), 1))
