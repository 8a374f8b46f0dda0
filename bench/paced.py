"""One measurement: many streams at a steady pace through one server, and what a token cost it meanwhile."""

import asyncio
import os
import time
from dataclasses import dataclass, replace

from bench.answers import checked
from bench.cpu import tree_seconds, waited_seconds
from bench.load import Callers
from bench.pace import OPENING, SETTLING, Pace
from bench.process import ServerProcess
from bench.upstream import PacedUpstream

_FIRST_TOKENS_WITHIN = 15.0
_END_WITHIN = 15.0
_MOST_TOGETHER = 0.05


@dataclass(frozen=True, slots=True)
class Figure:
    """What one measurement found. ``fault``: the server lost or altered something, so its cost means nothing."""

    micros: float = 0.0
    """CPU of the server per token that reached a caller, in microseconds."""
    pace_kept: float = 0.0
    """Tokens that came, as a share of those that were due."""
    far_core: float = 0.0
    """How much of their core upstream and callers used, or waited for while others had it: 0 to 1."""
    disturbance: float = 0.0
    """How long the server's threads waited for its core while others had it, together; 1 is the whole time."""
    together: float = 0.0
    """Share of the tokens that came in one event with another."""
    fault: str | None = None

    def __str__(self) -> str:
        return self.fault or f"{self.micros:.1f} µs{', void' if self.void else ''}"

    @property
    def saturated(self) -> bool:
        return self.pace_kept < 0.98

    @property
    def void(self) -> bool:
        """The callers or the upstream may have been the limit, or the server was given tokens several at a time, which
        makes each cheaper: the measurement says nothing of the server."""
        return self.far_core > 0.9 or self.together > _MOST_TOGETHER


async def measure(process: ServerProcess, upstream: PacedUpstream, pace: Pace) -> Figure:
    """One run through the server; ends by itself, whatever the server does."""
    load = process.server.call.load(process.port)
    try:
        async with asyncio.timeout(_FIRST_TOKENS_WITHIN):
            await load.open(pace.streams, over=OPENING)
            await load.begun()
        await asyncio.sleep(SETTLING)
        figure = await _window(load, process.pid, pace)
        sent = upstream.finish()
        if process.server.paces_itself:
            sent = [pace.tokens] * pace.streams
        async with asyncio.timeout(_END_WITHIN):
            await load.closed()
    except OSError as error:
        why = str(error) or "it gave no whole answers in time"
        return Figure(fault=f"{why} ({load.waiting} of {pace.streams} streams without a token); {process.last_words()}")
    finally:
        upstream.finish()
        load.leave()
    answers = checked(load.pieces(), sent)
    return replace(figure, together=answers.together) if answers.fault is None else Figure(fault=answers.fault)


async def _window(load: Callers, pid: int, pace: Pace) -> Figure:
    far, waited = _far_seconds(), waited_seconds(pid)
    begun, tokens, used = time.monotonic(), load.tokens, tree_seconds(pid)
    await asyncio.sleep(pace.window)
    lasted, tokens, used = time.monotonic() - begun, load.tokens - tokens, tree_seconds(pid) - used
    far, waited = _far_seconds() - far, waited_seconds(pid) - waited
    return Figure(
        micros=used / max(tokens, 1) * 1e6,
        pace_kept=tokens / (pace.streams * pace.rate * lasted),
        far_core=far / lasted,
        disturbance=waited / lasted,
    )


def _far_seconds() -> float:
    """What upstream and callers, which are this process, have used of their core or waited for."""
    return time.process_time() + waited_seconds(os.getpid(), alone=True)
