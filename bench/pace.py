"""How much is asked of every server, and for how long."""

from dataclasses import dataclass

from bench.tokens import MOST

OPENING = 0.5
"""Seconds over which the streams are opened."""
SETTLING = 0.5
"""Seconds from the last first token to the measurement."""
_TO_SPARE = 1.5


@dataclass(frozen=True, slots=True)
class Pace:
    """So many streams of so many tokens a second, measured for so many seconds."""

    streams: int
    rate: float
    window: float

    @property
    def tokens(self) -> int:
        """How many tokens a stream must have so as not to end while it is measured."""
        return min(round(self.rate * (OPENING + SETTLING + self.window + _TO_SPARE)), MOST)

    def __str__(self) -> str:
        return f"{self.streams} streams of {self.rate:g} tokens a second"
