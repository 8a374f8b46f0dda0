"""One measurement: many callers who begin at the same moment, each on a connection of its own (gRPC: in turns on four).

Measured: CPU of the server for each of them, with its connection and its answer of one token; and how much later its
first token came than from the upstream itself, which is asked by the same callers just before. Not measured: a first
wave, so that a server's connections to its upstream are there. The callers' core is busy at such a moment whatever the
server does; a round is void when others had it.
"""

import asyncio

from bench.answers import checked
from bench.http2 import GrpcCall
from bench.load import Call, Callers
from bench.meter import Meter
from bench.probe import Latency
from bench.process import ServerProcess
from bench.results import Figure
from bench.servers import NGINX, AnyServer, call_for
from bench.upstream import PacedUpstream

_PATIENCE = 30.0
_MOST_FAR_WAITED = 0.1


async def measure(
    server: AnyServer, process: ServerProcess, upstream: PacedUpstream, streams: int, waves: int
) -> Figure:
    """One round; ends by itself, whatever the server does."""
    upstream.at_once = 1
    call = call_for(server, 1, 0)
    try:
        direct = await _waits(NGINX.call, upstream.port, streams, waves)
        await _waits(call, process.port, streams, 1)
        meter = Meter(process.pid)
        taken = await _waits(call, process.port, streams, waves)
        spent = meter.read()
    except _WaveError as error:
        return Figure(fault=f"{error}; {process.last_words()}")
    finally:
        upstream.at_once = None
    values = {
        "micros": spent.cpu / (streams * waves) * 1e6,
        "p50": (taken.p50 - direct.p50) * 1000,
        "p99": (taken.p99 - direct.p99) * 1000,
    }
    busy = f"others had the callers' core for {spent.far_waited:.0%} of the time"
    void = busy if spent.far_waited > _MOST_FAR_WAITED else None
    return Figure(values, None, void, far_core=spent.far_core, disturbance=spent.disturbance)


class _WaveError(Exception):
    """One of the callers got no whole answer."""


async def _waits(call: Call | GrpcCall, port: int, streams: int, waves: int) -> Latency:
    """How long the first tokens of so many waves took."""
    waits: list[float | None] = []
    for _ in range(waves):
        load: Callers = call.load(port)
        try:
            async with asyncio.timeout(_PATIENCE):
                await load.open(streams, over=0)
                await load.closed()
        except OSError as error:
            raise _WaveError(str(error) or f"{load.waiting} of {streams} got no answer in time") from error
        finally:
            load.leave()
        fault = checked(load.pieces(), [1] * streams).fault
        if fault is not None:
            raise _WaveError(fault)
        waits += load.waits
    return Latency.of(waits)
