"""A run's events as a streamed HTTP reply: server-sent events, NDJSON, the bare text, or any other ``Media``.

In: events. Out: ASGI messages. The status is held back until the first content, so that an early failure is told as
``Media.send_error`` does it, by default with a real HTTP status; when the hold is over the headers go out, and
heartbeats keep the connection open until there is content.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from math import inf

from starlette.types import Send

from deltawire.domain.events import Error, Event, Finished, Reasoning, Started, Text
from deltawire.domain.limits import UNREAD_GRACE
from deltawire.transports import codec
from deltawire.transports.http.replies import NOSNIFF, RUN_ID, Header, send_problem
from deltawire.transports.http.settings import HttpSettings

SendError = Callable[[Send, Error], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Media:
    """A form of stream. One without a ``heartbeat`` carries nothing but answer text: it has no early headers, and a
    failure in the middle can only be told by cutting the connection."""

    name: str
    content_type: bytes
    encode: codec.Encode
    heartbeat: bytes | None
    send_error: SendError = send_problem
    """How a failure is told while it can still be a status."""


SSE = Media("sse", b"text/event-stream; charset=utf-8", codec.sse, b":\n")
NDJSON = Media("ndjson", b"application/x-ndjson; charset=utf-8", codec.ndjson, b"\n")
TEXT = Media("text", b"text/plain; charset=utf-8", codec.text, None)

_STREAMED: list[Header] = [
    # No intermediary may store, compress or collect what is meant to be seen piece by piece.
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
    NOSNIFF,
]


class ResponseAborted(Exception):
    """Raised out of the app to make the server cut the connection: the only way to say that a text is not complete."""


class ReplyNotRead(ResponseAborted):
    """The caller takes nothing of it: there is no use in waiting until it has what was written."""


async def send_events(
    send: Send, events: AsyncGenerator[Event, None], media: Media, run_id: str, settings: HttpSettings
) -> None:
    """Play the events to their end. Raises ``ResponseAborted`` where there is no other way to tell a failure: the media
    has none, or the caller does not read."""
    reply = _Reply(send, media, run_id, settings)
    encode = media.encode
    held = b""
    try:
        async with aclosing(events):
            async for event in events:
                match event:
                    case Text() | Reasoning():  # first, being nearly all
                        await reply.write(held + encode(event) if held else encode(event))
                        held = b""
                    case Started():  # comes with the first content, and leaves in one write with it
                        reply.limit(event.timeout)
                        held = encode(event)
                    case Finished():
                        await reply.end(held + encode(event))
                    case Error():
                        await reply.fail(event)
    except asyncio.CancelledError:
        if not reply.unread:
            raise
        raise ReplyNotRead("the caller did not read until the run's time was over") from None
    finally:
        reply.close()


class _Reply:
    """The streamed reply of one run: its status, its chunks, its signs of life."""

    __slots__ = (
        "_beat",
        "_began",
        "_cut_at",
        "_heartbeat",
        "_last",
        "_loop",
        "_media",
        "_run_id",
        "_send",
        "_silent",
        "_task",
        "_timer",
        "_timer_at",
        "_writing",
        "begun",
        "unread",
    )

    def __init__(self, send: Send, media: Media, run_id: str, settings: HttpSettings) -> None:
        self._send = send
        self._media = media
        self._run_id = run_id
        self._heartbeat = settings.heartbeat
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._began = self._last = self._loop.time()
        self._cut_at = inf
        self._writing = False
        self._silent = False  # there are no heartbeats any more
        self._beat: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = inf
        if media.heartbeat is not None:
            self._look_at(self._began + settings.status_hold)
        self.begun = False
        self.unread = False
        """Whether the connection must be cut, because the caller does not take what it is sent."""

    def limit(self, seconds: float) -> None:
        """Cut the connection a little after the run's time is over, if a write is stuck then: the engine ends a run
        only when its caller comes back for more, and a caller who does not read would hold the provider for ever."""
        self._cut_at = self._began + seconds + UNREAD_GRACE
        if self._cut_at < self._timer_at:
            self._look_at(self._cut_at)

    async def write(self, chunk: bytes) -> None:
        if not chunk:
            return
        self._writing = True
        if self._beat is not None:
            await self._beat
        if not self.begun:
            await self._begin()
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
        self._last = self._loop.time()
        self._writing = False

    async def end(self, chunk: bytes) -> None:
        self._writing = True
        await self._fall_silent()
        if not self.begun:
            await self._begin()
        await self._send({"type": "http.response.body", "body": chunk})

    async def fail(self, error: Error) -> None:
        """As a status while there is none yet, else in the stream, else by cutting the connection."""
        self._writing = True
        await self._fall_silent()
        if not self.begun:
            await self._media.send_error(self._send, error)
        elif self._media.heartbeat is None:
            raise ResponseAborted(error.reason)
        else:
            await self._send({"type": "http.response.body", "body": self._media.encode(error)})

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._beat is not None:
            self._beat.cancel()

    async def _fall_silent(self) -> None:
        """No heartbeat from here, and the one that is on its way is out."""
        self._silent = True
        if self._beat is not None:
            await self._beat

    async def _begin(self) -> None:
        self.begun = True
        headers = [(b"content-type", self._media.content_type), *_STREAMED, (RUN_ID, self._run_id.encode())]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    def _look_at(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = None if at == inf else self._loop.call_at(at, self._tick)

    def _tick(self) -> None:
        """The hold is over, or the stream has perhaps been silent for long enough, or its time is over."""
        now = self._loop.time()
        if now >= self._cut_at:
            self._cut_at = inf
            if self._writing and self._task is not None:
                self.unread = True
                self._task.cancel()
        self._look_at(min(self._beat_if_silent(now), self._cut_at))

    def _beat_if_silent(self, now: float) -> float:
        """When to look again."""
        if self._media.heartbeat is None or self._silent:
            return inf
        due = self._last + self._heartbeat
        if self.begun and now < due:
            return due
        if not self._writing and self._beat is None:  # who reads slowly has enough to read
            self._beat = self._loop.create_task(self._send_beat())
        return now + self._heartbeat

    async def _send_beat(self) -> None:
        try:
            if not self.begun:
                await self._begin()
            await self._send({"type": "http.response.body", "body": self._media.heartbeat, "more_body": True})
            self._last = self._loop.time()
        finally:
            self._beat = None
