"""One measurement: what an open stream takes of a server's memory, with thousands of them at once.

Each server runs alone for it, and each stream has a token every four seconds, so that those keep up too to whom a
token is dear. Measured: the memory of all its processes that others do not share, against that after ten streams. Not
measured: what the kernel keeps for the sockets.
"""

from pathlib import Path

from bench.crowd import hold
from bench.pace import Pace
from bench.process import ServerError, ServerProcess
from bench.results import Figure
from bench.servers import AnyServer, many
from bench.upstream import PacedUpstream

_RATE = 0.25


async def measure(server: AnyServer, folder: Path, streams: int, window: float, core: int) -> Figure:
    """One round; ends by itself, whatever the server does."""
    pace = Pace(streams, _RATE, window)
    async with PacedUpstream(pace.streams, pace.rate) as upstream:
        process = ServerProcess(many(server, streams), folder, upstream.port, core)
        try:
            await process.ready()
            crowd = await hold(process, upstream, pace, probed=False)
        except ServerError as error:
            return Figure(fault=str(error))
        finally:
            process.stop()
    if crowd.fault is not None:
        return Figure(fault=crowd.fault)
    return Figure({"kib": crowd.bytes_each / 1024, "opening": crowd.opening}, disturbance=crowd.disturbance)
