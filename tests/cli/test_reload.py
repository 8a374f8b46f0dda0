"""``deltawire serve --reload``: a change starts it anew, a mistake waits for the next one, nobody outlives it."""

import os
import signal
import sys
from pathlib import Path

import httpx
import pytest

from tests.cli.apps import shop
from tests.cli.command import Server, free_port, serving, until
from tests.cli.test_serve import ON_UPSTREAM, children

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="a socket cannot be handed on there"),
]

ONE_MORE = """

@function
def one_more(text: str) -> str:
    return text
"""


async def names(server: Server) -> list[str]:
    async with httpx.AsyncClient() as client:
        reply = await client.get(f"http://127.0.0.1:{server.port}/v1/functions", timeout=20)
    return [function["name"] for function in reply.json()["functions"]]


async def test_a_change_starts_it_anew_and_no_call_between_is_refused(tmp_path: Path) -> None:
    file = shop(tmp_path)
    async with serving(str(file), "--reload", env=ON_UPSTREAM, cwd=tmp_path) as server:
        assert "one_more" not in await names(server)
        file.write_text(file.read_text() + ONE_MORE)
        assert await server.said("changed") == "deltawire: shop.py changed\n"
        assert "one_more" in await names(server)  # asked while the next one is starting
        assert await server.stopped(signal.SIGINT) == 0


async def test_a_broken_file_is_one_line_and_the_next_change_mends_it(tmp_path: Path) -> None:
    file = shop(tmp_path)
    good = file.read_text()
    file.write_text("def f(:\n")
    async with serving(str(file), "--reload", env=ON_UPSTREAM, cwd=tmp_path, wait=False) as server:
        assert await server.line() == f"deltawire: {file}:1: invalid syntax\n"
        assert await server.line() == "deltawire: waiting for a change\n"
        file.write_text(good)
        await server.said('"listening"')
        assert "chat" in await names(server)
        assert await server.stopped() == 0


async def test_a_neighbour_and_the_configuration_are_watched_too(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    file = shop(tmp_path / "shop")
    config = tmp_path / "deltawire.toml"
    async with serving(str(file), "--reload", env=ON_UPSTREAM, cwd=tmp_path) as server:
        (tmp_path / "shop" / "neighbour.py").write_text("x = 1\n")
        await server.said("deltawire: neighbour.py changed")
        await server.said('"listening"')
        config.write_text("mdel = 1\n")
        await server.said("deltawire: deltawire.toml changed")
        await server.said("deltawire.toml: mdel is no setting; did you mean model?")
        assert await server.line() == "deltawire: waiting for a change\n"
        config.write_text('[log]\nlevel = "info"\n')
        await server.said('"listening"')
        assert await server.stopped() == 0


async def test_another_port_in_the_configuration_moves_it(tmp_path: Path) -> None:
    config = tmp_path / "deltawire.toml"
    first, second = free_port(), free_port()
    config.write_text(f"port = {first}\n")
    arguments = (str(shop(tmp_path)), "--reload")
    async with serving(*arguments, env=ON_UPSTREAM, cwd=tmp_path, wait=False, port=None) as server:
        assert f":{first}" in await server.said('"listening"')
        config.write_text(f"port = {second}\n")
        assert f":{second}" in await server.said('"listening"')
        server.port = second
        assert "chat" in await names(server)
        assert await server.stopped() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_the_child_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    async with serving(str(shop(tmp_path)), "--reload", env=ON_UPSTREAM, cwd=tmp_path) as server:
        [child] = children(server.process.pid)
        server.process.kill()
        await until(lambda: not alive(child), within=2)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_a_child_that_dies_is_told_of_and_waited_for(tmp_path: Path) -> None:
    file = shop(tmp_path)
    async with serving(str(file), "--reload", env=ON_UPSTREAM, cwd=tmp_path) as server:
        [child] = children(server.process.pid)
        os.kill(child, signal.SIGKILL)
        assert await server.line() == "deltawire: the server ended (killed by SIGKILL)\n"
        assert await server.line() == "deltawire: waiting for a change\n"
        file.touch()
        await server.said('"listening"')
        assert await server.stopped() == 0


def alive(pid: int) -> bool:
    """Running; a process that has ended and is not yet collected is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
