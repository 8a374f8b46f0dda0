"""A server that is told to stop while streams are open on all wires at once, and have some seconds to go.

In: the wires, how many streams. Out: what was wrong, if anything: a stream that was cut, a server that did not go.
"""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.answers import checked
from bench.crowd import OPENED_A_SECOND, callers
from bench.pace import Pace
from bench.process import ServerError, ServerProcess
from bench.servers import AnyServer, whole
from bench.upstream import PacedUpstream

_TO_GO = 3.0
"""Seconds from the signal to the end of the streams; the server gives them ``drain_timeout``, 25."""
_PATIENCE = 60.0
_GONE_WITHIN = 10.0


async def ended(wires: Sequence[AnyServer], folder: Path, pace: Pace, core: int) -> str | None:
    """What was wrong, or ``None``. The streams are shared out among the wires; ends by itself."""
    pace = replace(pace, streams=pace.streams // len(wires) * len(wires))
    async with PacedUpstream(pace.streams, pace.rate) as upstream:
        process = ServerProcess(whole(wires[0], pace.streams), folder, upstream.port, core)
        try:
            await process.ready()
            await process.ready(process.grpc_port)
            return await _ended(wires, process, upstream, pace)
        except ServerError as error:
            return str(error)
        except TimeoutError:
            return f"the streams did not begin or end in time; {process.last_words()}"
        finally:
            process.stop()


async def _ended(wires: Sequence[AnyServer], process: ServerProcess, upstream: PacedUpstream, pace: Pace) -> str | None:
    loads = [callers(process, wire) for wire in wires]
    each = pace.streams // len(wires)
    try:
        async with asyncio.timeout(_PATIENCE + pace.streams / OPENED_A_SECOND):
            for load in loads:
                await load.open(each, over=each / OPENED_A_SECOND)
            for load in loads:
                await load.begun()
        process.terminate()
        await asyncio.sleep(_TO_GO)
        sent = upstream.finish()
        async with asyncio.timeout(_PATIENCE):
            for load in loads:
                await load.closed()
    finally:
        upstream.finish()
        for load in loads:
            load.leave()
    pieces = [load.pieces() for load in loads]
    for wire, got in zip(wires, pieces, strict=True):
        if isinstance(got, str):
            return f"{wire.name}: {got}"
    whole_ones = [got for got in pieces if not isinstance(got, str)]
    fault = checked(list(itertools.chain.from_iterable(whole_ones)), sent).fault
    code = await process.ended(_GONE_WITHIN)
    return fault or (None if code == 0 else f"exit code {code}; {process.last_words()}")
