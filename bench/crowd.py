"""One measurement: thousands of streams that are all open at once, and what that is to the server.

In: a server on its own, an upstream. Out: whether all came whole, the memory of each, how long ``/healthz`` took
meanwhile.
"""

import asyncio
import time
from dataclasses import dataclass

from bench.answers import checked
from bench.cpu import waited_seconds
from bench.http2 import GrpcCall
from bench.load import Callers
from bench.memory import tree_resident
from bench.pace import Pace
from bench.probe import Latency, probe
from bench.process import ServerProcess
from bench.servers import AnyServer
from bench.upstream import PacedUpstream

_WARM = 10
"""Streams that come and go before, so that what every server makes once is not counted as theirs."""
OPENED_A_SECOND = 250
_PATIENCE = 120.0
_SETTLING = 1.0


@dataclass(frozen=True, slots=True)
class Crowd:
    """What became of the streams. ``fault``: one was cut, or a token lost, so the rest means nothing."""

    fault: str | None = None
    opening: float = 0.0
    """Seconds until all had their first token."""
    closing: float = 0.0
    """Seconds from the end of the first to that of the last."""
    pace_kept: float = 0.0
    """Tokens that came while all were open, as a share of those that were due."""
    bytes_each: float = 0.0
    """Memory of the server, with all its processes, for each open stream."""
    latency: Latency | None = None
    """Of ``/healthz`` while all were open."""
    disturbance: float = 0.0
    """How long the server waited for its core while others had it; 1 is the whole time."""


def callers(process: ServerProcess, wire: AnyServer | None = None) -> Callers:
    """Of the process, on the wire that it was started for, or on another."""
    call = (wire or process.server).call
    on_grpc_port = isinstance(call, GrpcCall) and process.server.both_ports
    return call.load(process.grpc_port if on_grpc_port else process.port)


async def hold(process: ServerProcess, upstream: PacedUpstream, pace: Pace, *, probed: bool = True) -> Crowd:
    """Open the streams, hold them for the pace's window, let them end; ends by itself, whatever the server does.

    ``probed``: ask for ``/healthz`` meanwhile, which not every server has."""
    load = callers(process)
    try:
        before = await _warm_memory(process, upstream)
        begun = time.monotonic()
        async with asyncio.timeout(_PATIENCE + pace.streams / OPENED_A_SECOND):
            await load.open(pace.streams, over=pace.streams / OPENED_A_SECOND)
            await load.begun()
        opening = time.monotonic() - begun
        await asyncio.sleep(_SETTLING)
        begun, tokens, waited = time.monotonic(), load.tokens, waited_seconds(process.pid)
        latency = await probe(process.port, pace.window) if probed else await asyncio.sleep(pace.window)
        lasted, tokens, waited = time.monotonic() - begun, load.tokens - tokens, waited_seconds(process.pid) - waited
        memory = tree_resident(process.pid) - before
        begun = time.monotonic()
        sent = upstream.finish()
        async with asyncio.timeout(_PATIENCE):
            await load.closed()
    except OSError as error:
        why = str(error) or "the streams did not begin or end in time"
        return Crowd(f"{why} ({load.waiting} of {pace.streams} without a token); {process.last_words()}")
    finally:
        upstream.finish()
        load.leave()
    return Crowd(
        fault=checked(load.pieces(), sent).fault,
        opening=opening,
        closing=time.monotonic() - begun,
        pace_kept=tokens / (pace.streams * pace.rate * lasted),
        bytes_each=memory / pace.streams,
        latency=latency,
        disturbance=waited / lasted,
    )


async def _warm_memory(process: ServerProcess, upstream: PacedUpstream) -> int:
    load = callers(process)
    async with asyncio.timeout(_PATIENCE):
        await load.open(_WARM, over=_WARM / OPENED_A_SECOND)
        await load.begun()
        upstream.finish()
        await load.closed()
    await asyncio.sleep(_SETTLING)
    return tree_resident(process.pid)
