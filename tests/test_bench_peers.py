"""The servers of others that deltawire is measured beside: each sends exactly the text that the upstream sends it."""

import os
from pathlib import Path

import pytest
from bench.answers import checked
from bench.pace import Pace
from bench.process import ServerProcess
from bench.servers import ARTICLE_A, LITELLM, USUAL, AnyServer
from bench.upstream import PacedUpstream

from tests.missing import leave_out


@pytest.mark.anyio
@pytest.mark.parametrize("server", [USUAL, ARTICLE_A, LITELLM], ids=lambda server: server.name)
async def test_a_peer_passes_the_text_on_exactly(server: AnyServer, tmp_path: Path) -> None:
    if (missing := server.missing()) is not None:
        leave_out(server.name, f"{server.name}: {missing}")
    pace = Pace(streams=3, rate=8, window=0.5)
    async with PacedUpstream(pace.streams, pace.rate) as upstream:
        process = ServerProcess(server, tmp_path / "it", upstream.port, min(os.sched_getaffinity(0)), pace)
        load = server.call.load(process.port)
        try:
            await process.ready()
            await load.open(pace.streams, over=0)
            await load.begun()
            sent = upstream.finish()
            await load.closed()
        finally:
            load.leave()
            process.stop()
    assert checked(load.pieces(), sent).fault is None
    assert min(sent) >= 1
