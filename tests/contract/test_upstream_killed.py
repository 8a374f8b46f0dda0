"""The provider's process is killed in the middle of its answers, on all transports at once."""

import asyncio
from pathlib import Path

import pytest

from tests.matrix.answers import answer
from tests.matrix.cells import CONTRACT
from tests.matrix.notation import Call
from tests.matrix.server import serving
from tests.matrix.stage import Matrix
from tests.upstream import refused_port
from tests.upstream.mortal import mortal

pytestmark = pytest.mark.anyio

CUT = [cell for cell in CONTRACT.cells if cell.outcome == "cut after content" and cell.transport != "engine"]
EACH = 3


async def test_each_caller_is_told_within_two_seconds_and_the_next_run_works(
    matrix: Matrix, environment: dict[str, str], tmp_path: Path
) -> None:
    """With the usual breaker, which counts what broke off at one moment as one failure."""
    with refused_port() as port:
        pass
    usual = {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "DELTAWIRE_BREAKER__FAILURES": "5"}
    played = CUT * EACH
    with serving(tmp_path, {**environment, **usual}) as server:
        with mortal(port, breaks_off=len(played)) as upstream:
            await upstream.told()
            calls = [asyncio.create_task(matrix.caller(cell.transport, server).call(cell.call())) for cell in played]
            await upstream.told()
            upstream.kill()
            async with asyncio.timeout(2):
                replies = await asyncio.gather(*calls)
        for cell, reply in zip(played, replies, strict=True):
            assert reply.written() == reply.as_expected(cell.expected, cell.transport), cell.id
        with mortal(port) as upstream:
            await upstream.told()
            for cell in CUT:
                reply = await matrix.caller(cell.transport, server).call(Call("say"))
                assert answer(cell.transport, reply) == "whole", cell.transport
        runs = [line["outcome"] for line in server.runs_logged()]
    assert runs == ["upstream_truncated"] * len(played) + ["stop"] * len(CUT)
