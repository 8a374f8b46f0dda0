"""A server in a process under another one: what the app's own programs get of it."""

import sys
from pathlib import Path

import pytest

from tests.cli.command import serving
from tests.cli.test_serve import ON_UPSTREAM

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

APP = """
import os

from deltawire import function

os.system("ls -l /proc/self/fd > open.txt")


@function
def speak(message: str) -> str:
    return message
"""


@pytest.mark.parametrize("under", [["--workers", "2"], ["--reload"]], ids=["workers", "reload"])
async def test_a_program_that_the_app_starts_has_none_of_the_servers_sockets(under: list[str], tmp_path: Path) -> None:
    """One that goes on when the server has ended would keep its port, on which nobody answers."""
    (tmp_path / "app.py").write_text(APP)
    async with serving("app.py", *under, env=ON_UPSTREAM, cwd=tmp_path) as server:
        opened = (tmp_path / "open.txt").read_text()
        assert "/proc/" in opened
        assert "socket:" not in opened
        assert await server.stopped() == 0
