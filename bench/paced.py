"""One measurement: many streams at a steady pace through one server, and what a token cost it meanwhile.

Measured: CPU of the server for each token that reached a caller, from the moment when all streams have begun; and the
bytes at the callers' sockets for each token. Not measured: the streams' beginning and end. A server that misses the
pace is started anew and asked for half of it, until it holds it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from bench.answers import checked
from bench.load import Callers
from bench.meter import Meter, Spent
from bench.pace import OPENING, SETTLING, Pace
from bench.process import ServerProcess
from bench.results import Figure
from bench.servers import AnyServer, call_for
from bench.upstream import PacedUpstream

_FIRST_TOKENS_WITHIN = 15.0
_END_WITHIN = 15.0
_MOST_TOGETHER = 0.05
_LEAST_PACE_KEPT = 0.98
_LOWEST_RATE = 0.5
_A_CORE = 0.8
_MOST_DISTURBANCE = 0.2


@dataclass(slots=True)
class Held:
    """The rate that a server is asked for: halved when it is missed, and so for all rounds that follow."""

    rate: float


async def measure(server: AnyServer, process: ServerProcess, upstream: PacedUpstream, pace: Pace, held: Held) -> Figure:
    """One round; ends by itself, whatever the server does."""

    async def once(rate: float) -> Figure:
        return await _once(server, process, upstream, replace(pace, rate=rate))

    return await at_held_rate(once, process.restart, pace.rate, held)


async def at_held_rate(
    once: Callable[[float], Awaitable[Figure]], restart: Callable[[], Awaitable[None]], rate: float, held: Held
) -> Figure:
    """What one round at a rate says, at the rate that is held; where that is not ``rate``, it is saturated."""
    while True:
        figure = await once(held.rate)
        if not figure.saturated or figure.void is not None or held.rate / 2 < _LOWEST_RATE:
            break
        held.rate /= 2
        await restart()
    return Figure(
        {**figure.values, "rate": held.rate} if figure.values else {},
        figure.fault,
        figure.void,
        figure.saturated or held.rate < rate,
        figure.far_core,
        figure.disturbance,
    )


async def _once(server: AnyServer, process: ServerProcess, upstream: PacedUpstream, pace: Pace) -> Figure:
    call = call_for(server, pace.tokens, pace.rate)
    upstream.at_once = None
    upstream.set_rate(pace.rate)
    load = call.load(process.port)
    opening = Meter(process.pid)
    try:
        async with asyncio.timeout(_FIRST_TOKENS_WITHIN):
            await load.open(pace.streams, over=OPENING)
            await load.begun()
        await asyncio.sleep(SETTLING)
        meter, tokens, received = Meter(process.pid), load.tokens, load.received
        await asyncio.sleep(pace.window)
        spent, tokens, received = meter.read(), load.tokens - tokens, load.received - received
        sent = upstream.finish()
        if server.paces_itself:
            sent = [pace.tokens] * pace.streams
        async with asyncio.timeout(_END_WITHIN):
            await load.closed()
    except OSError as error:  # of which one is that the time is over
        late, busy = isinstance(error, TimeoutError), busy_core(opening.read())
        fault = None if late and busy else _why(error, process, load, pace)
        return Figure(fault=fault, void=busy if late else None, saturated=late)
    finally:
        upstream.finish()
        load.leave()
    answers = checked(load.pieces(), sent)
    if answers.fault is not None:
        return Figure(fault=answers.fault)
    kept = tokens / (pace.streams * pace.rate * spent.seconds)
    values = {
        "micros": spent.cpu / max(tokens, 1) * 1e6,
        "wire_bytes": received / max(tokens, 1),
        "pace_kept": kept,
        "together": answers.together,
    }
    missed = kept < _LEAST_PACE_KEPT
    void = "the server was given several tokens at a time" if answers.together > _MOST_TOGETHER else None
    return spent.figure(values, void=void or (busy_core(spent) if missed else None), saturated=missed)


def busy_core(spent: Spent) -> str | None:
    """What is to be said of a pace that was missed where the server had much less than a core, and waited for it."""
    if spent.cpu / spent.seconds < _A_CORE and spent.disturbance > _MOST_DISTURBANCE:
        return f"others had the server's core: it waited {spent.disturbance:.0%} of the time"
    return None


def _why(error: OSError, process: ServerProcess, load: Callers, pace: Pace) -> str:
    why = str(error) or "it gave no whole answers in time"
    return f"{why} ({load.waiting} of {pace.streams} streams without a token); {process.last_words()}"
