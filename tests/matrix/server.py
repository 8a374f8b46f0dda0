"""``python -m deltawire serve`` as a process of its own, and its log."""

import asyncio
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import deltawire

_SOURCE = Path(deltawire.__file__).parents[1]
APP = Path(__file__).parent / "app.py"
_SERVE = (sys.executable, "-m", "deltawire", "serve")
_UNSET = ("DELTAWIRE_", "OPENAI_", "AZURE_OPENAI_")


@dataclass(slots=True)
class Log:
    """What the server has written to its stderr: one JSON object a line."""

    file: Path
    _read: int = field(default=0)

    def new(self) -> list[dict[str, Any]]:
        """The lines since the last time, whole ones only."""
        with self.file.open("rb") as file:
            file.seek(self._read)
            lines = file.read().rpartition(b"\n")[0]
        self._read += len(lines) + 1 if lines else 0
        return [json.loads(line) for line in lines.splitlines()]


@dataclass(frozen=True, slots=True)
class Server:
    port: int
    grpc_port: int
    log: Log
    pid: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def runs_logged(self) -> list[dict[str, Any]]:
        """The new lines of runs. Anything else in the log but what announces the server is a failure."""
        assert _status(self.port, "/healthz") == 200  # what the loop did before is in the file now
        lines = self.log.new()
        traces = [line for line in lines if "trace" in line and "on purpose" not in line["trace"]]
        assert not traces, f"the server logged tracebacks: {traces}"
        return [line for line in lines if line["logger"] == "deltawire.run"]

    async def logged(self, count: int) -> list[dict[str, Any]]:
        """The new lines of runs, once there are so many, or more."""
        lines = self.runs_logged()
        async with asyncio.timeout(20):
            while len(lines) < count:
                await asyncio.sleep(0.01)
                lines += self.runs_logged()
        return lines


@contextmanager
def serving(folder: Path, environment: Mapping[str, str], app: Path = APP) -> Generator[Server]:
    """The functions of ``app`` on ports of their own; ends with the ``with``."""
    port, grpc_port = _free_port(), _free_port()
    log = folder / f"server-{port}.log"
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            [*_SERVE, str(app), "--port", str(port), "--grpc-port", str(grpc_port)],
            env={**clean_environment(), "DELTAWIRE_LOG__FORMAT": "json", **environment},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
    try:
        _wait_for(port, process, log)
        server = Server(port, grpc_port, Log(log), process.pid)
        server.log._read = log.stat().st_size  # pyright: ignore[reportPrivateUsage]  (what announces the server)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def exit_code(pid: int, within: float) -> int:
    """Of the process, a child of ours that nobody has waited for yet."""
    async with asyncio.timeout(within):
        ended = await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert ended is not None
    assert ended.si_code == os.CLD_EXITED
    return ended.si_status


def clean_environment() -> dict[str, str]:
    """This process's environment without what would configure a server, and with this source."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(_UNSET)}
    return {**clean, "PYTHONPATH": str(_SOURCE)}


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        try:
            if _status(port, "/readyz") == 200:
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"the server did not come up:\n{log.read_text()}")


def _status(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()
