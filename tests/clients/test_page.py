"""What the page says besides its programs: links, and the settings for nginx."""

import asyncio
import re
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.clients import page, test_curl, test_programs
from tests.clients.page import BLOCKS, PAGE, PROGRAMS
from tests.clients.program import Toolchains, running
from tests.clients.shop import ANSWER
from tests.matrix.provider import Provider
from tests.matrix.server import Server

DOCS = Path(__file__).parents[2] / "docs"


def anchors(page: str) -> set[str]:
    """The headings as GitHub writes them into a link."""
    titles = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_what_the_page_links_to_exists() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", PAGE) if not link.startswith("http")]
    assert links
    for link in links:
        path, _, anchor = link.partition("#")
        file = DOCS / (path or "clients.md")
        assert file.exists(), link
        assert not anchor or anchor in anchors(file.read_text()), link


def test_every_program_of_the_page_is_run_by_a_test() -> None:
    assert {language for language, _ in BLOCKS} == {"yaml"}  # what has no name
    run = [*test_programs.WHOLE, *test_programs.STREAMS, *test_curl.WHOLE, *test_curl.STREAMS]
    assert sorted(PROGRAMS) == sorted([*run, "grpc_stubs.sh", "connect_stubs.sh", "grpc_web.ts"])


@asynccontextmanager
async def nginx(binary: str, backend: int, folder: Path) -> AsyncGenerator[int]:
    """nginx with the settings of the page, and no more than it needs to start; gives its port."""
    [settings] = re.findall(r"^  ```nginx\n(.*?)^  ```", PAGE, re.DOTALL | re.MULTILINE)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    settings = settings.replace("listen 80;", f"listen 127.0.0.1:{port};").replace(":8000;", f":{backend};")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {folder / kind};" for kind in kinds)
    file = folder / "nginx.conf"
    file.write_text(
        f"daemon off; pid {folder / 'pid'}; error_log stderr; events {{}}\n"
        f"http {{ access_log off; {temporary}\n{settings} }}"
    )
    process = await asyncio.create_subprocess_exec(
        *(binary, "-p", str(folder), "-c", str(file)), stderr=asyncio.subprocess.PIPE
    )
    try:
        await _listening(port, process)
        yield port
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def _listening(port: int, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(10):
        while process.returncode is None:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return
    raise AssertionError("nginx ended")


@pytest.mark.anyio
async def test_nginx_passes_pieces_and_leaving_on_at_once(
    program: Callable[[str], str], toolchains: Toolchains, shop: Server, upstream: Provider, tmp_path: Path
) -> None:
    async with nginx(program("nginx"), shop.port, tmp_path) as port:
        for name in ("sse.py", "ndjson.rb", "many_runs.py"):
            await _plays_through(port, name, toolchains, upstream, tmp_path)


async def _plays_through(port: int, name: str, toolchains: Toolchains, upstream: Provider, folder: Path) -> None:
    for message in ("whole", "slow"):
        file = folder / f"{message}_{name}"
        file.write_text(page.program(name, port, message))
        async with running(await toolchains.command(file), folder) as started:
            if message == "whole":
                assert (await started.ended()).out == ANSWER
            else:
                await started.shown("Hel")
                started.interrupt()
                await upstream.exchanges[-1].client_left()
