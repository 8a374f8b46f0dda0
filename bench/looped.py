"""Two measurements with callers in a closed loop, each on a connection that it keeps: bursts, where an answer has many
tokens and no pause between them, and answers of one token.

Measured: CPU of the server for each token that came in the window, or for each answer; of answers of one token also how
long each took its caller, of which the upstream's own share is some tens of microseconds. Not measured: the first
answers of each caller, or the first seconds. A caller rests a little between an answer and its next question, the same
for every server: without it, the callers would be the limit wherever a server is fast.
"""

import asyncio
from dataclasses import dataclass

from bench.closed_loop import Asked
from bench.meter import Meter
from bench.probe import Latency
from bench.process import ServerProcess
from bench.results import Figure
from bench.servers import AnyServer, call_for
from bench.upstream import PacedUpstream

_WARM = 3
"""Answers for each caller before anything is measured,"""
_WARM_WITHIN = 4.0
"""if they come in so many seconds: there are servers that take their time."""
_PATIENCE = 45.0


@dataclass(frozen=True, slots=True)
class Loop:
    """So many callers, whose answers have so many tokens, for so many seconds."""

    callers: int
    tokens: int
    rest: float
    window: float

    def __str__(self) -> str:
        return f"{self.callers} callers, {self.tokens} tokens an answer, {self.rest * 1000:g} ms between two"


async def measure(server: AnyServer, process: ServerProcess, upstream: PacedUpstream, asked: Loop) -> Figure:
    """One round; ends by itself, whatever the server does."""
    upstream.at_once = asked.tokens
    loop = call_for(server, asked.tokens, 0).loop(process.port, asked.callers, asked.rest)
    try:
        await loop.open(_WARM * asked.callers, _WARM_WITHIN)
        meter, tokens, answers = Meter(process.pid), loop.tokens, len(loop.answers)
        await asyncio.sleep(asked.window)
        spent, tokens, timed = meter.read(), loop.tokens - tokens, loop.answers[answers:]
        async with asyncio.timeout(_PATIENCE):
            await loop.close()
    except OSError as error:
        why = loop.broken or str(error) or "it gave no whole answers in time"
        return Figure(fault=f"{why}; {process.last_words()}")
    finally:
        loop.leave()
        upstream.at_once = None
    fault = loop.fault(asked.tokens)
    if fault is not None or not tokens:
        return Figure(fault=fault or f"no token in {asked.window:g} s; {process.last_words()}")
    if asked.tokens == 1:
        return spent.figure({"micros": spent.cpu / max(len(timed), 1) * 1e6, **_milliseconds(timed)})
    return spent.figure({"micros": spent.cpu / tokens * 1e6, "tokens_a_second": tokens / spent.seconds})


def _milliseconds(timed: list[Asked]) -> dict[str, float]:
    taken = Latency.of([each.ended - each.begun for each in timed])
    return {"p50": taken.p50 * 1000, "p99": taken.p99 * 1000}
