"""The servers of others that deltawire is measured beside: each sends exactly the text that the upstream sends it."""

import asyncio
import os
from pathlib import Path

import pytest
from bench.answers import checked
from bench.pace import Pace
from bench.peers import environments
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
        process = ServerProcess(server, tmp_path / "it", upstream.port, min(os.sched_getaffinity(0)))
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


@pytest.mark.anyio
async def test_a_proxy_that_looks_who_is_there_gets_no_stream() -> None:
    async with PacedUpstream(1, 8) as upstream:
        reader, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
        writer.write(b"GET /v1/models HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 404 ")
        assert upstream.finish() == []
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("environment", "package"), [(environments.USUAL, "openai"), (environments.LITELLM, "litellm")]
)
def test_the_versions_are_those_of_the_lock(environment: environments.Environment, package: str) -> None:
    if (missing := environment.missing()) is not None:
        leave_out(environment.name, f"{environment.name}: {missing}")
    lock = Path(environments.__file__).with_name(f"{environment.name}.txt").read_text()
    assert environment.versions(package).replace(" ", "==") + " \\\n" in lock
