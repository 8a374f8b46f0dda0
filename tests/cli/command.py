"""The real command as a process of its own, with nothing in its environment but what a test gives it."""

import asyncio
import errno
import json
import os
import pty
import signal
import socket
import sys
import tty
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import deltawire as deltawire_package
from tests.upstream import Upstream

_KEPT = ("PATH", "HOME", "SYSTEMROOT")
_SOURCE = str(Path(deltawire_package.__file__).parent.parent)
_WITHIN = 20.0
_LONGEST = 120.0
"""Seconds from a command's start to its end."""

Environment = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended, and what it said."""

    code: int
    out: bytes
    err: str

    @property
    def complaint(self) -> str:
        """Its only line on stderr."""
        assert self.err.endswith("\n"), self.err
        assert self.err.count("\n") == 1, self.err
        return self.err.rstrip("\n")


def environment(given: Environment | None = None) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    # All would have the same port for gRPC: whoever wants it says where.
    return {**kept, "PYTHONPATH": _SOURCE, "DELTAWIRE_GRPC_PORT": "off", **(given or {})}


def calling(upstream: Upstream) -> dict[str, str]:
    """The environment of a command whose functions run on the scripted upstream."""
    return {"DELTAWIRE_MODEL": "openai:m", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": upstream.base_url}


async def started(
    *arguments: str, env: Environment | None = None, cwd: Path, stdin: int = DEVNULL, stdout: int = PIPE
) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "deltawire", *arguments),
        env=environment(env),
        cwd=cwd,
        stdin=stdin,
        stdout=stdout,
        stderr=PIPE,
    )


async def deltawire(*arguments: str, env: Environment | None = None, cwd: Path, stdin: bytes | None = None) -> Ended:
    """Run a command to its end."""
    process = await started(*arguments, env=env, cwd=cwd, stdin=DEVNULL if stdin is None else PIPE)
    async with ending(process), asyncio.timeout(_WITHIN):
        out, err = await process.communicate(stdin)
    assert process.returncode is not None
    return Ended(process.returncode, out, err.decode())


@asynccontextmanager
async def ending(process: Process) -> AsyncGenerator[Process]:
    """Whatever happens, the process is gone afterwards, after some time at the latest, and its pipes are read."""
    try:
        async with asyncio.timeout(_LONGEST):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@dataclass(slots=True)
class Server:
    """A running ``deltawire serve``."""

    process: Process
    port: int

    async def line(self) -> str:
        """The next line of its stderr; empty at its end."""
        assert self.process.stderr is not None
        async with asyncio.timeout(_WITHIN):
            return (await self.process.stderr.readline()).decode()

    async def said(self, words: str) -> str:
        """Read on until a line holds the words."""
        seen: list[str] = []
        while line := await self.line():
            if words in line:
                return line
            seen.append(line)
        raise AssertionError(f"the server ended without having said {words!r}: {''.join(seen)}")

    async def stopped(self, signum: int = signal.SIGTERM) -> int:
        """Its exit code, after the signal."""
        self.process.send_signal(signum)
        async with asyncio.timeout(_WITHIN):
            await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode


@asynccontextmanager
async def serving(
    *arguments: str, env: Environment | None = None, cwd: Path, wait: bool = True, port: int | None = 0
) -> AsyncGenerator[Server]:
    """``deltawire serve`` on a free port (``None``: on the one of its settings); ``wait`` until it says that it
    listens."""
    port = free_port() if port == 0 else port
    process = await started("serve", *arguments, *(["--port", str(port)] if port else []), env=env, cwd=cwd)
    async with ending(process):
        server = Server(process, port or 0)
        if wait:
            told = json.loads(await server.said('"listening"'))
            assert told["address"] == f"http://127.0.0.1:{port}"
        yield server


async def until(what: Callable[[], bool], within: float) -> None:
    async with asyncio.timeout(within):
        while not what():  # noqa: ASYNC110 - another process sets no event of ours
            await asyncio.sleep(0.01)


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Terminal:
    """A command in a terminal of its own: what it shows is one text, as on a screen."""

    def __init__(self, process: Process, descriptor: int) -> None:
        self.process = process
        self._descriptor = descriptor
        self.shown = ""

    async def until(self, words: str | None) -> str:
        """Everything shown so far, once it holds the words, or (``None``) when the command has ended."""
        async with asyncio.timeout(_WITHIN):
            while words is None or words not in self.shown:
                piece = await asyncio.to_thread(self._read)
                if not piece:
                    assert words is None, f"{words!r} was never shown: {self.shown!r}"
                    break
                self.shown += piece.decode(errors="replace")
        return self.shown

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, 65536)
        except OSError as error:
            if error.errno == errno.EIO:  # so Linux tells that nobody has the other end open
                return b""
            raise


@asynccontextmanager
async def in_terminal(*arguments: str, env: Environment | None = None, cwd: Path) -> AsyncGenerator[Terminal]:
    ours, theirs = pty.openpty()
    tty.setraw(theirs)  # what the command writes is what is read
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "deltawire", *arguments),
        env=environment({"TERM": "xterm-256color", "COLUMNS": "80", **(env or {})}),
        cwd=cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        os.close(ours)
