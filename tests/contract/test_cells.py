"""Each cell of ``docs/contract.md``: what the page says is what comes, byte for byte."""

import asyncio
import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import BREAKS_AT_ONCE
from tests.contract.places import one_under_way
from tests.matrix.cells import CONTRACT, Cell
from tests.matrix.document import Block
from tests.matrix.http_caller import HttpCaller
from tests.matrix.notation import Call
from tests.matrix.server import APP, Server, exit_code, serving
from tests.matrix.stage import Matrix, in_process
from tests.matrix.transports import CONNECT
from tests.matrix.ws_caller import WAITS
from tests.upstream import Gate, head, text

pytestmark = pytest.mark.anyio

NOT_IN_THE_RUNS_TRANSPORT = {"unknown_path", "method_not_allowed", "not_acceptable", "forbidden", "expectation_failed"}
"""Refused before it is known which transport is meant: the log says ``http``."""

LOGGED = {"chat_stream": "chat", "grpc_invoke": "grpc", "grpc_web_text": "grpc_web"} | dict.fromkeys(CONNECT, "connect")
"""By what name the log knows a transport, where it has no other word for it."""


def cells(
    *, hurried: bool = False, drains: bool = False, full: bool = False, ill: bool = False, ends: bool = False
) -> pytest.MarkDecorator:
    wanted = (hurried, drains, full, ill, ends)
    chosen = [cell for cell in CONTRACT.cells if (cell.hurried, cell.drains, cell.full, cell.ill, cell.ends) == wanted]
    return pytest.mark.parametrize("cell", [pytest.param(cell, id=cell.id) for cell in chosen])


@cells()
async def test_the_page_says_what_comes(matrix: Matrix, cell: Cell) -> None:
    await play(cell, matrix, matrix.server)


@cells(hurried=True)
async def test_the_page_says_what_comes_when_headers_are_out_early(
    matrix: Matrix, hurried_server: Server, cell: Cell
) -> None:
    hurried_server.log.new()
    await play(cell, matrix, hurried_server)


@cells(ill=True)
async def test_the_page_says_what_comes_of_a_model_that_is_left_alone(
    matrix: Matrix, wary_server: Server, cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in BREAKS_AT_ONCE.items():
        monkeypatch.setenv(name, value)
    core, records = in_process(APP)
    wary = replace(matrix, core=core, records=records)
    await wary.caller("engine" if cell.transport == "engine" else "json", wary_server).call(Call(cell.row["function"]))
    wary.logged(cell.transport, wary_server)
    await play(cell, wary, wary_server)
    await core.close()


@cells(drains=True)
async def test_the_page_says_what_comes_while_the_server_shuts_down(
    matrix: Matrix, environment: dict[str, str], tmp_path: Path, cell: Cell
) -> None:
    with serving(tmp_path, environment) as server:
        reply = await matrix.caller(cell.transport, server).call(cell.call())
        assert reply.written() == reply.as_expected(cell.expected, cell.transport)
        assert [line["outcome"] for line in server.log.new() if line["logger"] == "deltawire.run"] == [
            cell.outcome_logged,
            "canceled",
        ]


@cells(hurried=False, full=True)
async def test_the_page_says_what_comes_when_no_place_is_free(
    matrix: Matrix, narrow_server: Server, monkeypatch: pytest.MonkeyPatch, cell: Cell
) -> None:
    monkeypatch.setenv("DELTAWIRE_MAX_RUNS", "1")
    core, records = in_process(APP)
    narrow = Matrix(matrix.provider, narrow_server, core, records)
    narrow_server.log.new()
    async with one_under_way(narrow, "engine" if cell.transport == "engine" else "json"):
        await play(cell, narrow, narrow_server)
    await core.close()


@pytest.mark.parametrize("after", [False, True], ids=["before content", "after content"])
@pytest.mark.parametrize("signals", [1, 2])
async def test_the_page_says_what_comes_when_the_server_ends(
    matrix: Matrix, environment: dict[str, str], tmp_path: Path, after: bool, signals: int
) -> None:
    """All transports at once. The time that the server has left is enough for what the provider has sent by then."""
    played = [cell for cell in CONTRACT.cells if cell.ends and cell.after == after]
    gate = Gate()
    matrix.provider.always(head(), *([text("Hel")] if after else []), gate.wait())
    time = {"DELTAWIRE_DRAIN_TIMEOUT": "0.5" if signals == 1 else "60"}
    with serving(tmp_path, {**environment, **time}) as server:
        calls = [asyncio.create_task(matrix.caller(cell.transport, server).call(cell.call())) for cell in played]
        await gate.reached(len(played))
        os.kill(server.pid, signal.SIGTERM)
        if signals == 2:
            await asyncio.sleep(0.3)  # the same for the callers, who would wait for a minute
            os.kill(server.pid, signal.SIGTERM)
        code = await exit_code(server.pid, within=15)
        matrix.core.engine.end()
        replies = await asyncio.gather(*calls)
        lines = server.log.new()
    for cell, reply in zip(played, replies, strict=True):
        told = replace(reply, head=reply.head.replace("\nconnection: close\n", "\n"))  # the page says it in words
        assert told.written() == told.as_expected(cell.expected, cell.transport), cell.id
    assert code == 0
    assert not [line for line in lines if "trace" in line]
    runs = [line for line in lines if line["logger"] == "deltawire.run"]
    assert [line["outcome"] for line in runs] == ["draining"] * (len(played) - 1)  # one is played in this process
    matrix.records.new()


OTHER = [block for section in CONTRACT.sections if section.title == "Other paths" for block in section.blocks]


@pytest.mark.parametrize("block", [pytest.param(block, id=block.words) for block in OTHER])
async def test_the_page_says_what_other_paths_answer(matrix: Matrix, block: Block) -> None:
    caller = HttpCaller("json", matrix.server.url)
    method, _, path = block.words.partition(" ")
    reply = await caller.get(method, path)
    assert reply.written() == reply.as_expected(block.text.removesuffix("\n"), "json")
    heads_alone = await caller.get("HEAD", path)
    assert (heads_alone.head, heads_alone.body) == (reply.head, b"")
    assert matrix.server.runs_logged() == []


async def test_the_list_of_functions_holds_them_all(matrix: Matrix) -> None:
    caller = HttpCaller("json", matrix.server.url)
    listed = json.loads((await caller.get("GET", "/v1/functions")).body)["functions"]
    assert [function["name"] for function in listed] == list(matrix.core.engine.plans)
    for function in listed:
        assert json.loads((await caller.get("GET", f"/v1/functions/{function['name']}")).body) == function


async def play(cell: Cell, matrix: Matrix, server: Server) -> None:
    script = cell.script()
    matrix.provider.play(script)
    reply = await matrix.caller(cell.transport, server).call(cell.call(), script)
    assert reply.written() == reply.as_expected(cell.expected, cell.transport)
    for stop in script.stops:
        if stop.kind in ("leave", "cancel"):
            await (await matrix.provider.requested()).client_left()
    assert matrix.provider.unasked == 0
    (line,) = [line for line in matrix.logged(cell.transport, server) if line.get("function") != WAITS]
    assert line["outcome"] == cell.outcome_logged
    known = cell.reason not in NOT_IN_THE_RUNS_TRANSPORT and "accept-post" not in reply.head
    assert line["transport"] == (LOGGED.get(cell.transport, cell.transport) if known else "http")
    if reply.head:  # a caller who left before the status has no run id
        assert reply.run_id == line["run_id"]
