"""The reply to one gRPC call: its initial metadata, its messages, its status.

In: encoded messages, or an error. Out: operations on the call. As on HTTP, a stream's beginning is held back until the
first content; when the hold is over the initial metadata goes out alone.
"""

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import suppress
from math import inf
from types import coroutine
from typing import NoReturn, TypeAlias

import grpc
from grpc import aio
from msgspec.structs import replace

from deltawire.domain.errors import Code, Reason, RunError
from deltawire.domain.events import Error
from deltawire.domain.limits import UNREAD_GRACE
from deltawire.engine.engine import Run
from deltawire.transports import protobuf
from deltawire.transports.progress import Progress
from deltawire.transports.status import GRPC_STATUS

Context: TypeAlias = "aio.ServicerContext[bytes, bytes]"
Write: TypeAlias = "Coroutine[asyncio.Future[object], None, None]"

SAME_MOMENT = 0.1
"""Seconds by which gRPC and the engine may differ over one deadline."""
_LONGEST_MESSAGE = 1024
"""Bytes. A status is metadata, of which callers take 8 KiB; it holds the message twice, once in up to three times its
bytes."""
_RUN_ID = "deltawire-run-id"
_DETAILS = "grpc-status-details-bin"

_BY_NUMBER = {status.value[0]: status for status in grpc.StatusCode}
_STATUS = {code: _BY_NUMBER[GRPC_STATUS[code]] for code in Code}


class Reply:
    """What goes to the caller. To be closed when nothing more will be written."""

    __slots__ = (
        "_began",
        "_begun",
        "_context",
        "_early",
        "_hold",
        "_limit",
        "_loop",
        "_metadata",
        "_over_at",
        "_progress",
        "_room",
        "_run",
        "_task",
        "_timeout",
        "_write",
        "_written",
        "unread",
        "writing",
    )

    def __init__(self, context: Context, run: Run, write_timeout: float) -> None:
        self._context = context
        self._run = run
        self._metadata = ((_RUN_ID, run.id),)
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._begun = False
        self._early: asyncio.Task[None] | None = None
        self._hold: asyncio.TimerHandle | None = None
        self._limit: asyncio.TimerHandle | None = None
        self._over_at = inf
        self._task: asyncio.Task[object] | None = None
        self._progress: Progress | None = None
        self._timeout = write_timeout
        self._write: Write
        self._room: asyncio.Future[object] | None = None
        """Done when the caller has room for the message that is on its way, if one is."""
        self._written = 0
        self.writing = False
        """Whether somebody waits for that."""
        self.unread: RunError | None = None
        """Why the call must end, though its caller has made no room for what was to come."""

    def hold(self, seconds: float) -> None:
        """Begin without content when this time is over."""
        self._hold = self._loop.call_later(seconds, self._begin_early)

    def limit(self, seconds: float) -> None:
        """Cancel the task that writes a little after the run's time is over, if it is stuck then, or when it was stuck
        for too long: the engine ends a run only when its caller comes back for more, and a caller who does not read
        would hold the provider for ever."""
        self._task = asyncio.current_task()
        self._over_at = self._began + seconds
        late = RunError(Reason.total_timeout, "the caller did not read until the run's time was over")
        self._limit = self._loop.call_at(self._over_at + UNREAD_GRACE, self._cut, late)
        still = f"the caller made no room for the next message for {self._timeout:g} s (grpc.write_timeout)"
        stuck = RunError(Reason.canceled, still)
        self._progress = Progress(self._timeout, self._taken, lambda: self._cut(stuck))

    def put(self, message: bytes) -> bool:
        """Send it, if the caller had room for all before it; else it is for ``write``. Raises ``aio.BaseError``.

        gRPC's coroutine is taken as far as it waits for the caller, and on with the next message: a task that waited in
        it would have to be woken once more for each message.
        """
        room = self._room
        if room is not None:
            if not room.done():
                return False
            self._step()
        elif not self._begun:
            return False
        self._write = self._context.write(message)  # pyright: ignore[reportAttributeAccessIssue] (its type says less)
        self._step()
        return True

    async def write(self, message: bytes) -> None:
        """Send it when the caller has room for it (HTTP/2, flow control). Raises ``aio.BaseError``."""
        await self.begin()
        await self.flush()
        self.put(message)

    async def flush(self) -> None:
        """Returns when the caller has had room for all that was sent."""
        while self._room is not None:
            if not self._room.done():
                self.writing = True
                try:
                    await _passed_on(self._room)
                except asyncio.CancelledError:
                    self._room = None
                    raise
                self.writing = False
            self._step()

    def _step(self) -> None:
        self._room = None
        try:
            self._room = self._write.send(None)
        except StopIteration:
            self._written += 1

    async def lost(self) -> None:
        """After an ``aio.BaseError``. The call's deadline is over a little before the run's, which is the same."""
        remaining = self._over_at - self._loop.time()
        if remaining <= SAME_MOMENT:
            await asyncio.sleep(remaining)

    async def begin(self) -> None:
        if self._begun:
            return
        if self._hold is not None:
            self._hold.cancel()
        if self._early is None:
            await self._context.send_initial_metadata(self._metadata)
        else:
            await self._early
        self._begun = True

    async def fail(self, error: Error) -> NoReturn:
        """End the call with the error as its status. Raises, as gRPC wants it."""
        await self.begin()
        await self.flush()
        error = _brief(error)
        details = ((_DETAILS, protobuf.status(error)),)
        await self._context.abort(_STATUS[error.code], error.message, details)

    def close(self) -> None:
        for timer in (self._hold, self._limit):
            if timer is not None:
                timer.cancel()
        if self._progress is not None:
            self._progress.stop()
        if self._room is not None:  # the call is gone, or about to be; nobody waits for this any more
            self._room.add_done_callback(_looked_at)

    def _taken(self) -> int | None:
        return self._written if self.writing else None

    def _begin_early(self) -> None:
        self._early = self._loop.create_task(self._send_early())

    async def _send_early(self) -> None:
        with suppress(aio.BaseError):  # the caller is gone: whoever writes next hears of it
            await self._context.send_initial_metadata(self._metadata)

    def _cut(self, why: RunError) -> None:
        if self.writing and self._task is not None and self.unread is None:
            self.unread = why
            self._run.cancel(why.message)  # for the log: the run itself waits for its caller, and is not touched
            self._task.cancel()


@coroutine
def _passed_on(future: "asyncio.Future[object]") -> Generator["asyncio.Future[object]", None, None]:
    """Wait for a future that a coroutine of gRPC has yielded, as a task of its own would."""
    yield future


def _looked_at(future: "asyncio.Future[object]") -> None:
    """That it has failed, gRPC tells in its own way; asyncio would log it as an error that everybody has missed."""
    _ = future.cancelled() or future.exception()


def _brief(error: Error) -> Error:
    encoded = error.message.encode()
    if len(encoded) <= _LONGEST_MESSAGE:
        return error
    return replace(error, message=encoded[: _LONGEST_MESSAGE - 3].decode(errors="ignore") + "…")
