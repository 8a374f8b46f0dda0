"""A server as a process of its own, on its core, for as long as the benchmark needs it."""

import asyncio
import contextlib
import os
import socket
import subprocess
import time
from pathlib import Path

from bench.cpu import on_core
from bench.servers import AnyServer, Place

_STOP_WITHIN = 5.0


class ServerError(Exception):
    """The server did not come up, or died; the message ends with what it said last."""


class ServerProcess:
    """Starts on construction; `ready` waits until it takes connections, `stop` ends it."""

    def __init__(self, server: AnyServer, folder: Path, upstream: int, core: int) -> None:
        self.server = server
        self.port, self.grpc_port = _free_port(), _free_port()
        folder.mkdir()
        self._place = Place(folder, self.port, self.grpc_port, upstream)
        self._core = core
        self._said = folder / "output.log"
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH", "LANG") if name in os.environ}
        with on_core(self._core), self._said.open("wb") as output:
            # A session of its own: Ctrl-C reaches us alone, and we end it in order.
            return subprocess.Popen(
                self.server.command(self._place),
                env={**kept, **self.server.environment(self._place.upstream)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    async def restart(self) -> None:
        """End it and begin anew, on the same ports."""
        self.stop()
        self._process = self._started()
        await self.ready()

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ready(self, port: int | None = None) -> None:
        """Return when it takes connections, on that port if it has several."""
        within = self.server.start_within
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise ServerError(f"it ended with {self._process.returncode}: {self.last_words()}")
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", port or self.port)) == 0:
                    return
            await asyncio.sleep(0.05)
        raise ServerError(f"it took no connection within {within:.0f} s: {self.last_words()}")

    def last_words(self) -> str:
        """Without the pictures that some draw of letters."""
        said = self._said.read_text(errors="replace").splitlines()
        return "\n".join(line for line in said if any(map(str.isalnum, line)))[-600:].strip()

    def terminate(self) -> None:
        """Ask it to end, and do not wait."""
        self._process.terminate()

    async def ended(self, within: float) -> int | None:
        """The exit code; ``None`` when it is still there after so many seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return await asyncio.to_thread(self._process.wait, within)
        return None

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
