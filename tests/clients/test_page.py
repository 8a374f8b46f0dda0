"""What the page says besides its programs: links, and the settings for nginx."""

import re
from pathlib import Path

import pytest

from tests.clients import page, test_curl, test_programs
from tests.clients.page import BLOCKS, PAGE, PROGRAMS
from tests.clients.program import Toolchains, running
from tests.clients.shop import ANSWER
from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.nginx import nginx

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


def configured(address: str, backend: int) -> str:
    """The settings of the page, and no more than nginx needs to start."""
    [settings] = re.findall(r"^  ```nginx\n(.*?)^  ```", PAGE, re.DOTALL | re.MULTILINE)
    return settings.replace("listen 80;", f"listen {address};").replace(":8000;", f":{backend};")


@pytest.mark.anyio
async def test_nginx_passes_pieces_and_leaving_on_at_once(
    toolchains: Toolchains, shop: Server, upstream: Provider, tmp_path: Path
) -> None:
    with nginx(tmp_path, lambda address: configured(address, shop.port)) as url:
        port = int(url.rpartition(":")[2])
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
