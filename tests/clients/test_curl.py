"""The page's calls with curl: what they print, and their exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.page import program
from tests.clients.program import Ended, Toolchains, running
from tests.clients.shop import ANSWER, ITEMS
from tests.matrix.provider import Provider
from tests.matrix.server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("upstream")]

WHOLE = ["json.sh", "invoke.sh", "connect.sh"]
STREAMS = ["sse.sh", "ndjson.sh"]


async def curled(name: str, message: str, toolchains: Toolchains, port: int, folder: Path) -> Ended:
    file = folder / f"{message}_{name}"
    file.write_text(program(name, port, message))
    async with running(await toolchains.command(file), folder) as started:
        return await started.ended()


def events(name: str, printed: str) -> list[dict[str, Any]]:
    if name == "ndjson.sh":
        return [json.loads(line) for line in printed.split("\n") if line]
    lines = [block.split("\n") for block in printed.split("\n\n") if block]
    return [{"type": kind[7:], **json.loads(data[6:])} for kind, data in lines]


def output(name: str, printed: str) -> object:
    answer = json.loads(printed)
    match name:
        case "invoke.sh":
            return answer
        case "connect.sh":
            return json.loads(answer["outputJson"])
        case _:
            return answer["output"]


@pytest.mark.parametrize("name", WHOLE)
async def test_curl_prints_the_whole_answer(name: str, toolchains: Toolchains, shop: Server, tmp_path: Path) -> None:
    ended = await curled(name, "whole", toolchains, shop.port, tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert output(name, ended.out) == {"items": ITEMS}


@pytest.mark.parametrize("name", STREAMS)
async def test_curl_prints_the_events(name: str, toolchains: Toolchains, shop: Server, tmp_path: Path) -> None:
    ended = await curled(name, "whole", toolchains, shop.port, tmp_path)
    assert (ended.code, ended.err) == (0, "")
    first, *pieces, last = events(name, ended.out)
    assert (first["type"], last["type"]) == ("started", "finished")
    assert "".join(piece["text"] for piece in pieces) == ANSWER


@pytest.mark.parametrize("name", [*WHOLE, *STREAMS])
async def test_curls_exit_code_tells_an_early_failure(
    name: str, toolchains: Toolchains, shop: Server, tmp_path: Path
) -> None:
    ended = await curled(name, "early", toolchains, shop.port, tmp_path)
    assert ended.code == 22
    assert json.loads(ended.out)["code"] == "invalid_argument"
    assert "upstream_rejected" in ended.out


@pytest.mark.parametrize("name", STREAMS)
async def test_a_late_failure_is_the_last_event(
    name: str, toolchains: Toolchains, shop: Server, tmp_path: Path
) -> None:
    ended = await curled(name, "late", toolchains, shop.port, tmp_path)
    assert ended.code == 0
    last = events(name, ended.out)[-1]
    assert (last["type"], last["reason"], last["partial"]) == ("error", "upstream_error", True)


@pytest.mark.parametrize("name", STREAMS)
async def test_ctrl_c_ends_the_run(
    name: str, toolchains: Toolchains, shop: Server, upstream: Provider, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_text(program(name, shop.port, "slow"))
    async with running(await toolchains.command(file), tmp_path) as started:
        await started.shown("Hel")
        [exchange] = upstream.exchanges
        started.interrupt()
        await exchange.client_left()
