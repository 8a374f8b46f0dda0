"""A program of the page while it runs: what it prints, and Ctrl-C."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.matrix.server import clean_environment
from tests.node import Node

Find = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str


class Program:
    """A process of its own, in a group of its own, as a shell would start it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._shown = b""

    async def shown(self, text: str, *, within: float = 20) -> None:
        """Returns when it has printed the text."""
        out = self._process.stdout
        assert out is not None
        async with asyncio.timeout(within):
            while text.encode() not in self._shown:
                part = await out.read(4096)
                if not part:
                    raise AssertionError(f"it ended and has not shown {text!r}: {await self.ended()}")
                self._shown += part

    def interrupt(self) -> None:
        """Ctrl-C."""
        os.killpg(self._process.pid, signal.SIGINT)

    async def ended(self, *, within: float = 20) -> Ended:
        async with asyncio.timeout(within):
            out, err = await self._process.communicate()
        assert self._process.returncode is not None
        return Ended(self._process.returncode, (self._shown + out).decode(), err.decode())


@asynccontextmanager
async def running(command: list[str], folder: Path) -> AsyncGenerator[Program]:
    process = await asyncio.create_subprocess_exec(
        *("env", "--default-signal=INT", *command),  # a test run in the background ignores it, and would hand that on
        cwd=folder,
        env={**clean_environment(), "NO_COLOR": "1"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield Program(process)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):  # it has ended, and nobody has told us yet
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


@dataclass(frozen=True, slots=True)
class Toolchains:
    """Makes a command of a file of source. A program that is missing leaves the test out."""

    find: Find
    node: Callable[[], Node]

    async def command(self, file: Path) -> list[str]:
        match file.suffix:
            case ".sh":
                self.find("curl")
                return ["sh", str(file)]
            case ".py":
                return [sys.executable, str(file)]
            case ".ts":
                node = self.node()
                if not (file.parent / "node_modules").exists():
                    node.link(file.parent)
                    (file.parent / "package.json").write_text('{"type": "module"}')
                return [str(node.program), str(file)]
            case ".php":
                return [self.find("php"), str(file)]
            case ".rb":
                return [self.find("ruby"), str(file)]
            case ".go":
                return await self._built(file)
            case other:
                raise AssertionError(f"nothing is known of {other}")

    async def _built(self, file: Path) -> list[str]:
        """``CC`` as it was when Debian built the standard library, so that the library need not be built again."""
        made = file.with_suffix("")
        process = await asyncio.create_subprocess_exec(
            *(self.find("go"), "build", "-o", str(made), str(file)),
            env={**clean_environment(), "CC": "gcc", "GOTOOLCHAIN": "local", "GOPROXY": "off", "GO111MODULE": "auto"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await process.communicate()
        assert process.returncode == 0, said.decode()
        return [str(made)]
