"""How much a run of the benchmark asks of each server: the full form, and one of a minute that shows that all works."""

from dataclasses import dataclass

from bench.looped import Loop
from bench.pace import Pace


@dataclass(frozen=True, slots=True)
class Form:
    short: bool
    rounds: int
    pace: Pace
    bursts: Loop
    one_token: Loop
    starts: int
    """How many begin at once."""
    waves: int
    """How often they do, in a round."""
    open_streams: int
    held: float
    """Seconds that all of them stay open."""
    memory_of: tuple[str, ...] | None
    """The servers whose memory is measured; ``None``: all whose callers use HTTP/1.1."""


FULL = Form(
    short=False,
    rounds=5,
    pace=Pace(streams=200, rate=50, window=4.0),
    bursts=Loop(callers=32, tokens=200, rest=0.08, window=2.0),
    one_token=Loop(callers=8, tokens=1, rest=0.003, window=2.0),
    starts=200,
    waves=5,
    open_streams=4000,
    held=2.0,
    memory_of=None,
)

SHORT = Form(
    short=True,
    rounds=1,
    pace=Pace(streams=200, rate=50, window=1.0),
    bursts=Loop(callers=32, tokens=200, rest=0.08, window=0.5),
    one_token=Loop(callers=8, tokens=1, rest=0.003, window=0.5),
    starts=200,
    waves=1,
    open_streams=300,
    held=0.5,
    memory_of=("nginx", "sse"),
)
