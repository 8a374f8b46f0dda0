"""The parent's side of the local model: starts its process on first need, and again when it has died.

In: the settings and a callback for progress. Out: an ``Endpoint``, to be spoken to as any OpenAI-compatible upstream.
The process inherits nothing of ours, answers to a random key on 127.0.0.1, and ends when we do (see ``server.py``).
"""

import asyncio
import json
import secrets
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from deltawire.domain.errors import Reason, RunError
from deltawire.providers.local import packages
from deltawire.providers.local.server import Configuration
from deltawire.providers.local.settings import LocalSettings

_SERVER = Path(__file__).with_name("server.py")
_INSTALL = "run: deltawire local install"
_LONGEST_HOLD_OFF = 30.0  # seconds between two starts of a model that does not start
_PATIENCE = 2.0  # seconds that a process gets to end by itself
_LOG_LINES = 12


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the local model listens, as settings of an OpenAI-compatible provider."""

    base_url: str
    api_key: str = field(repr=False)


class LocalModel:
    """One local model, for as long as its owner lives. Belongs to one event loop; ``close()`` ends it."""

    def __init__(self, settings: LocalSettings, progress: Callable[[str], None], name: str = "smollm2") -> None:
        self._settings = settings
        self._progress = progress
        self._name = name
        self._child: _Child | None = None
        self._start: asyncio.Task[Endpoint] | None = None  # shared by all who wait for it
        self._watcher: asyncio.Task[None] | None = None
        self._failures = 0
        self._no_start_before = 0.0
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The model's process, while it runs."""
        return self._child.process.pid if self._child and self._child.process.returncode is None else None

    async def ready(self) -> Endpoint:
        """The endpoint of a model that runs, which may mean to wait until it has started.

        A caller that is cancelled meanwhile leaves the start to the others. Raises ``RunError`` with
        ``upstream_unreachable`` when the model cannot start, and with ``draining`` after ``close()``.
        """
        if self._closed:
            raise self._closing()
        if self._child is not None and self._child.process.returncode is None:
            return self._child.endpoint
        if self._start is None:
            self._start = asyncio.create_task(self._begin())
            self._start.add_done_callback(self._forget_start)
        start = self._start
        await asyncio.wait({start})  # unlike an await of the task, it does not hand a cancellation on
        if start.cancelled():
            raise self._closing()
        return start.result()

    async def close(self) -> None:
        """End the model's process, also one that is only starting."""
        self._closed = True
        if self._start is not None:
            self._start.cancel()
            await asyncio.wait({self._start})
        if self._child is not None:
            await self._child.end()
        if self._watcher is not None:
            await asyncio.wait({self._watcher})  # at the end of an event loop it has been cancelled

    def _forget_start(self, start: asyncio.Task[Endpoint]) -> None:
        self._start = None
        if not start.cancelled():
            start.exception()  # every caller may have been cancelled: then nobody else asks

    async def _begin(self) -> Endpoint:
        loop = asyncio.get_running_loop()
        began = loop.time()
        configuration = self._configuration()
        if began < self._no_start_before:
            wait = self._no_start_before - began
            raise self._unreachable(f"did not start {self._failures} times; the next try is in {wait:.0f} s", wait)
        self._progress(f"starting the local model {self._name} ...")
        try:
            async with asyncio.timeout(self._settings.start_timeout):
                child = await _Child.started(configuration, self._settings.environment)
        except (_StartError, TimeoutError) as error:
            self._failures += 1
            hold_off = min(2.0 ** (self._failures - 2), _LONGEST_HOLD_OFF) if self._failures > 1 else 0.0
            self._no_start_before = loop.time() + hold_off
            raise self._not_started(error) from error
        self._failures = 0
        self._child = child
        self._watcher = asyncio.create_task(self._watch(child))
        self._progress(f"local model {self._name} ready in {loop.time() - began:.1f} s")
        return child.endpoint

    def _configuration(self) -> Configuration:
        """What the child is told. Raises where something is not installed."""
        settings = self._settings
        model, server = settings.model_path or packages.weights(), packages.server_folder()
        if model is None or server is None:
            raise self._missing(f"is not installed; {_INSTALL}")
        if not model.is_file():
            raise self._missing("has no weights: the model_path of its settings is not a file")
        return Configuration(
            model_path=str(model.absolute()),
            alias=self._name,
            slots=settings.slots,
            context=settings.context,
            threads=settings.threads,
            api_key=secrets.token_urlsafe(24),
            import_from=[str(server)],
        )

    async def _watch(self, child: "_Child") -> None:
        await child.process.wait()
        await child.logged()
        if not self._closed:
            how = how_ended(child.process.returncode)
            self._progress(
                f"the local model {self._name} ended ({how}); the next call starts it again{child.last_lines()}"
            )

    def _not_started(self, error: "_StartError | TimeoutError") -> RunError:
        if isinstance(error, TimeoutError):
            return self._unreachable(f"did not start within {self._settings.start_timeout:g} s (start_timeout)")
        self._progress(f"the local model {self._name} did not start: {error}{error.last_lines}")
        return self._unreachable(f"did not start: {error}; {_way_out(str(error))}")

    def _missing(self, what: str) -> RunError:
        """A second try would find nothing else."""
        return RunError(Reason.upstream_unreachable, f"the local model {self._name!r} {what}")

    def _unreachable(self, what: str, retry_after: float | None = None) -> RunError:
        message = f"the local model {self._name!r} {what}"
        return RunError(Reason.upstream_unreachable, message, retry_after=retry_after, retry_safe=True)

    def _closing(self) -> RunError:
        return RunError(Reason.draining, f"the local model {self._name!r} has been shut down")


class _StartError(Exception):
    def __init__(self, message: str, last_lines: str = "") -> None:
        super().__init__(message)
        self.last_lines = last_lines


class _Child:
    """A process that has been started: its pipes and the last lines of its log."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.endpoint = Endpoint("", "")
        self._log: deque[bytes] = deque(maxlen=_LOG_LINES)
        self._logging = asyncio.create_task(self._read_log())

    @classmethod
    async def started(cls, configuration: Configuration, environment: dict[str, str]) -> "_Child":
        """Start a process and wait until it answers. A failure or a cancellation leaves none behind."""
        spawning = asyncio.create_task(_spawn(environment))
        try:
            await asyncio.wait({spawning})
        except asyncio.CancelledError:
            await asyncio.wait(
                {spawning}
            )  # uvloop loses a process whose spawning is cancelled: end it once it is there
            if spawning.exception() is None:
                await cls(spawning.result()).kill()
            raise
        child = cls(spawning.result())
        try:
            port = await child._configure(configuration)
            await _answers(port)
        except BaseException:
            await child.kill()
            raise
        child.endpoint = Endpoint(f"http://127.0.0.1:{port}/v1", configuration["api_key"])
        return child

    async def _configure(self, configuration: Configuration) -> int:
        """Tell the child what to load; returns the port that it then listens on."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(ConnectionError):  # it died at once: the empty answer tells
            self.process.stdin.write(json.dumps(configuration).encode() + b"\n")
            await self.process.stdin.drain()
        answer = await self.process.stdout.readline()
        if not answer:
            await self.process.wait()
            await self.logged()
            raise _StartError(how_ended(self.process.returncode), self.last_lines())
        told: dict[str, int | str] = json.loads(answer)
        if "error" in told:
            await self.logged()
            raise _StartError(str(told["error"]), self.last_lines())
        return int(told["port"])

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.end()

    async def end(self) -> None:
        """Close its stdin, which ends it; kill it if that does not."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            async with asyncio.timeout(_PATIENCE):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        await self.logged()

    async def logged(self) -> None:
        """Wait for the end of its log."""
        await asyncio.wait({self._logging})

    def last_lines(self) -> str:
        """The last lines of its log, each on a line of its own; empty when there are none."""
        return "".join(f"\n  {line.decode(errors='replace')}" for line in self._log)

    async def _read_log(self) -> None:
        assert self.process.stderr is not None
        rest = b""
        while piece := await self.process.stderr.read(65536):
            *lines, rest = (rest + piece).split(b"\n")
            self._log.extend(lines)
            rest = rest[-4096:]  # a line without end does not grow
        if rest:
            self._log.append(rest)


async def _spawn(environment: dict[str, str]) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", str(_SERVER)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment,
            start_new_session=True,  # an interrupt typed at the terminal is ours alone
        )
    except OSError as error:
        raise _StartError(f"{sys.executable}: {error.strerror}") from error


async def _answers(port: int) -> None:
    """Return once ``GET /health`` says that the model is loaded."""
    while b" 200 " not in await _health(port):  # noqa: ASYNC110 - another process sets no event of ours
        await asyncio.sleep(0.05)


async def _health(port: int) -> bytes:
    """The status line of ``GET /health``."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError as error:
        raise _StartError(f"its port {port} does not answer: {error.strerror}") from error
    with closing(writer):
        writer.write(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
        return await reader.readline()


def how_ended(code: int | None) -> str:
    """What a process's exit code tells; below zero it is the signal that ended it."""
    code = code or 0
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:  # not every signal has a name
        return f"killed by signal {-code}"


def _way_out(error: str) -> str:
    """What a person can do about an error at the start."""
    for sign, way_out in _WAYS_OUT.items():
        if sign in error:
            return way_out
    return "the server's own output has its last words"


_WAYS_OUT = {
    "libgomp": "install the system's libgomp (Debian: apt-get install libgomp1)",
    "ImportError": _INSTALL,
    "ModuleNotFoundError": _INSTALL,
    "Failed to init server": "its weights cannot be loaded: check model_path, or " + _INSTALL,
    "SIGILL": "this processor lacks what the prebuilt inference server needs; set DELTAWIRE_MODEL to another model",
    "SIGKILL": "the system ended it, mostly for want of memory",
}
