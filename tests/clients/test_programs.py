"""Every program of the page prints the answer, tells each kind of failure, and leaves when it is told to."""

import asyncio
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.clients.page import PROGRAMS, program
from tests.clients.program import Ended, Toolchains, running
from tests.clients.shop import ANSWER, ITEMS, cutting
from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.missing import leave_out

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("upstream")]

WHOLE = [name for name in PROGRAMS if name.startswith(("whole", "invoke")) and not name.endswith(".sh")]
STREAMS = [name for name in PROGRAMS if name not in WHOLE and not name.endswith(".sh") and name != "grpc_web.ts"]

Prepare: TypeAlias = Callable[..., Awaitable[list[str]]]


@pytest.fixture
def prepare(toolchains: Toolchains, shop: Server, request: pytest.FixtureRequest, tmp_path: Path) -> Prepare:
    """Saves a program of the page, changed so that the model behaves as the message says; gives its command."""

    async def prepared(name: str, message: str, port: int | None = None, timeout: float | None = None) -> list[str]:
        code = program(name, port or port_of(name, shop), message, timeout)
        file = tmp_path / f"{message}_{name}"
        file.write_text(code)
        return await toolchains.command(file)

    name: str = request.node.callspec.params["name"]
    if "vendor/autoload.php" in PROGRAMS[name]:
        _lay_guzzle(toolchains, tmp_path / "vendor")
    if "curl_init" in PROGRAMS[name]:
        _must_have_curl(toolchains)
    if "from deltawire.v1 " in PROGRAMS[name]:
        (tmp_path / "deltawire").symlink_to(request.getfixturevalue("python_stubs_made"))
    if '"./gen/' in PROGRAMS[name]:
        (tmp_path / "gen").symlink_to(request.getfixturevalue("typescript_stubs_made"))
    return prepared


def _lay_guzzle(toolchains: Toolchains, vendor: Path) -> None:
    """Debian's, where Composer would lay it."""
    toolchains.find("php")
    autoload = Path("/usr/share/php/GuzzleHttp/autoload.php")
    if not autoload.exists():
        leave_out("Guzzle", f"there is no {autoload}")
    vendor.mkdir()
    (vendor / "autoload.php").write_text(f"<?php require '{autoload}';")


def _must_have_curl(toolchains: Toolchains) -> None:
    asked = subprocess.run([toolchains.find("php"), "-r", 'exit(extension_loaded("curl") ? 0 : 1);'])
    if asked.returncode:
        leave_out("php-curl", "PHP has no extension 'curl'")


def port_of(name: str, server: Server) -> int:
    return server.grpc_port if name.startswith("grpc_") else server.port


async def run(command: list[str], folder: Path) -> Ended:
    async with running(command, folder) as started:
        return await started.ended()


_CUT = {
    "many_runs.py": "ConnectionClosedError",
    "grpc_stream.py": "unavailable",
    "connect.ts": "missing EndStreamResponse",
}
"""What tells a stream that was cut, where it is the library."""


def failure(name: str, code: str, reason: str) -> str:
    """How the program tells it: Connect's client spells codes in its own way, and OpenAI's has none of them."""
    match name:
        case "openai_chat.py":
            return f"{reason}: "
        case "connect.ts":
            return f"{code.title().replace('_', '')} {reason}: "
        case _:
            return f"{code} {reason}: "


@pytest.mark.parametrize("name", WHOLE)
async def test_it_prints_the_whole_answer(name: str, prepare: Prepare, tmp_path: Path) -> None:
    ended = await run(await prepare(name, "whole"), tmp_path)
    assert ended == Ended(0, "".join(f"{item}\n" for item in ITEMS), "")


@pytest.mark.parametrize("name", STREAMS)
async def test_it_prints_the_answer_exactly(name: str, prepare: Prepare, tmp_path: Path) -> None:
    ended = await run(await prepare(name, "whole"), tmp_path)
    assert ended == Ended(0, ANSWER, "")


@pytest.mark.parametrize("name", [*WHOLE, *STREAMS])
async def test_it_tells_what_failed(name: str, prepare: Prepare, tmp_path: Path) -> None:
    async def outcome(message: str, timeout: float | None = None) -> Ended:
        return await run(await prepare(name, message, timeout=timeout), tmp_path)

    early, late, slow = await asyncio.gather(outcome("early"), outcome("late"), outcome("slow", 0.4))
    begun = "Hel" if name in STREAMS else ""
    assert (early.out, late.out, slow.out) == ("", begun, begun)
    assert failure(name, "invalid_argument", "upstream_rejected") in early.err
    assert failure(name, "unavailable", "upstream_error") in late.err
    assert failure(name, "deadline_exceeded", "total_timeout") in slow.err
    assert all(ended.code for ended in (early, late, slow))


@pytest.mark.parametrize("name", STREAMS)
async def test_it_does_not_take_a_part_for_the_whole(name: str, prepare: Prepare, shop: Server, tmp_path: Path) -> None:
    async with cutting(port_of(name, shop)) as port:
        ended = await run(await prepare(name, "slow", port), tmp_path)
    assert "Hel".startswith(ended.out)  # grpcio may drop what it has not yet handed over
    assert _CUT.get(name, "the stream was cut") in ended.err
    assert ended.code


@pytest.mark.parametrize("name", STREAMS)
async def test_it_shows_each_piece_at_once_and_ctrl_c_ends_the_run(
    name: str, prepare: Prepare, upstream: Provider, tmp_path: Path
) -> None:
    async with running(await prepare(name, "slow"), tmp_path) as started:
        await started.shown("Hel")
        [exchange] = upstream.exchanges
        started.interrupt()
        await exchange.client_left()
        await started.ended()
