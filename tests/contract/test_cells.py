"""Each cell of ``docs/contract.md``: what the page says is what comes, byte for byte."""

import pytest

from tests.matrix.cells import CONTRACT, Cell
from tests.matrix.server import Server
from tests.matrix.stage import Matrix

pytestmark = pytest.mark.anyio

NOT_IN_THE_RUNS_TRANSPORT = {"unknown_path", "method_not_allowed", "not_acceptable", "forbidden"}
"""Refused before it is known which transport is meant: the log says ``http``."""


@pytest.mark.parametrize("cell", [pytest.param(cell, id=cell.id) for cell in CONTRACT.cells if not cell.hurried])
async def test_the_page_says_what_comes(matrix: Matrix, cell: Cell) -> None:
    await play(cell, matrix, matrix.server)


@pytest.mark.parametrize("cell", [pytest.param(cell, id=cell.id) for cell in CONTRACT.cells if cell.hurried])
async def test_the_page_says_what_comes_when_headers_are_out_early(
    matrix: Matrix, hurried_server: Server, cell: Cell
) -> None:
    hurried_server.log.new()
    await play(cell, matrix, hurried_server)


async def play(cell: Cell, matrix: Matrix, server: Server) -> None:
    script = cell.script()
    matrix.provider.play(script)
    reply = await matrix.caller(cell.transport, server).call(cell.call(), script)
    assert reply.written() == reply.as_expected(cell.expected, cell.transport)
    for stop in script.stops:
        if stop.kind == "leave":
            await (await matrix.provider.requested()).client_left()
    assert matrix.provider.unasked == 0
    (line,) = matrix.logged(cell.transport, server)
    assert line["outcome"] == cell.outcome_logged
    known = cell.reason not in NOT_IN_THE_RUNS_TRANSPORT
    assert line["transport"] == (cell.transport.removesuffix("_stream") if known else "http")
    if reply.head:  # a caller who left before the status has no run id
        assert reply.run_id == line["run_id"]
