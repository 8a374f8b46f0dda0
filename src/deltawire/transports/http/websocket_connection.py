"""One WebSocket from its acceptance until its caller has left: runs under way on it, one reader, one writer.

In: messages, which ``take`` of a class for one surface understands. Out: what its runs' ``Encoder`` makes of their
events. One task reads, one writes, and each run has one of its own.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import MutableMapping
from contextlib import aclosing, suppress
from typing import Any

from starlette.types import Receive, Scope, Send

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Started
from deltawire.domain.limits import UNREAD_GRACE
from deltawire.domain.run import RunRequest
from deltawire.engine.engine import Engine, Run
from deltawire.transports.http.replies import replying, send_problem
from deltawire.transports.http.request import WHY
from deltawire.transports.http.settings import HttpSettings
from deltawire.transports.http.websocket_outbox import Buffer, Encoder, Outbox

DRAIN = "websocket.deltawire.drain"
"""A message of our own server, beside those of ASGI: the server shuts down, no new run shall begin."""

POLICY = 1008  # RFC 6455 §7.4.1
_TOO_BIG = 1009
_RESTART = 1012  # the registry of close codes that RFC 6455 §11.7 opened

WebSocketMessage = MutableMapping[str, Any]


async def accepted(scope: Scope, receive: Receive, send: Send, engine: Engine, subprotocol: str | None = None) -> bool:
    """Answer the handshake. ``subprotocol`` is the one that is spoken here, if there is one."""
    offered: list[str] = scope["subprotocols"]
    if offered and subprotocol not in offered:
        # A browser drops a connection for which none of its subprotocols was chosen, and tells nobody why.
        error = RunError(Reason.not_acceptable, f"none of the subprotocols suits; offered: {subprotocol or 'none'}")
        await send_problem(replying(scope, send), engine.arrive("http").refuse(error))
        return False
    await receive()  # websocket.connect
    await send({"type": "websocket.accept", "subprotocol": subprotocol if offered else None})
    return True


class Connection(ABC):
    """What two surfaces have in common. Each understands messages of its own."""

    def __init__(self, engine: Engine, settings: HttpSettings, receive: Receive, send: Send, stray: Encoder) -> None:
        """``stray`` encodes what belongs to no run."""
        self.engine = engine
        self.settings = settings
        self._receive = receive
        self._send = send
        self.live: dict[str, LiveRun] = {}
        self._tasks = asyncio.TaskGroup()
        self._outbox = Outbox()
        self.stray = self._outbox.buffer(None, stray)
        self.draining = False
        self._close: tuple[int, str] | None = None
        self._why_over = "the caller left"

    @abstractmethod
    def take(self, message: WebSocketMessage) -> None:
        """A message of the caller's, not too large."""

    def moved_on(self) -> None:  # noqa: B027  (who lets no message wait need not know)
        """A run's end has been taken from its buffer, or the server is about to stop."""

    async def serve(self) -> None:
        async with self._tasks:
            writer = self._tasks.create_task(self._write())
            try:
                await self._read()
            finally:
                self._outbox.close()
                for live in self.live.values():
                    live.cancel(self._why_over)
                writer.cancel()

    def start(self, key: str, run: Run, function: str, request: RunRequest, encoder: Encoder) -> None:
        """``key`` is the run's name among those on this socket."""
        live = self.live[key] = LiveRun(run, function, request, self._outbox.buffer(key, encoder))
        self._tasks.create_task(live.play())

    def close(self, code: int, reason: str) -> None:
        """End the connection for a fault of its own."""
        self._close = (code, reason)
        self._outbox.wake()

    async def _read(self) -> None:
        while True:
            message = await self._receive()
            match message["type"]:
                case "websocket.receive" if self._close is None:
                    await self._check_and_take(message)
                case "websocket.disconnect":
                    self._why_over = message.get(WHY, self._why_over)
                    return
                case type_ if type_ == DRAIN:
                    self.draining = True
                    self.moved_on()
                    self._outbox.wake()
                case _:
                    pass

    async def _check_and_take(self, message: WebSocketMessage) -> None:
        limit, size = self.settings.max_body_bytes, len(content(message))
        if size > limit:  # our own server has checked before the message was read; another may not
            self.close(_TOO_BIG, f"message with {size} bytes exceeds limit of {limit} bytes")
            return
        self.take(message)
        if self.stray.full:  # whoever sends nonsense faster than it reads what we say to it is slowed
            await self.stray.room()

    async def _write(self) -> None:
        """Empty the buffers in turns, until the connection is closed or there is a reason to close it."""
        with suppress(OSError):  # the caller left; the reader is told so too
            while self._close is None:
                if self.draining and not self.live and self._outbox.empty:
                    self._close = (_RESTART, "the server is shutting down")
                    break
                buffer = await self._outbox.next()
                if buffer is not None:
                    await self._empty(buffer)
            code, reason = self._close
            await self._send({"type": "websocket.close", "code": code, "reason": reason})
        self._outbox.close()

    async def _empty(self, buffer: Buffer) -> None:
        taken = buffer.take()
        if buffer.run is not None and buffer.over:  # who has read the end may use the id again
            del self.live[buffer.run]
        for message in taken:
            await self._send({"type": "websocket.send", "text": message.decode()})
        if buffer.over:
            self.moved_on()
        buffer.wake()


class LiveRun:
    """A run on a socket, and the buffer that its events go into."""

    def __init__(self, run: Run, function: str, request: RunRequest, buffer: Buffer) -> None:
        self._run = run
        self._function = function
        self._request = request
        self._buffer = buffer

    async def play(self) -> None:
        """A full buffer pauses this run only: it asks its provider for no more. When its time is over it goes on all
        the same, so that the engine can end it."""
        time = asyncio.get_running_loop().time
        began, limit = time(), 0.0
        buffer = self._buffer
        async with aclosing(self._run.events(self._function, self._request)) as events:
            async for event in events:
                if isinstance(event, Started):
                    limit = event.timeout
                buffer.add(event)
                if buffer.full and not buffer.over:
                    await buffer.room(began + limit + UNREAD_GRACE)

    def cancel(self, message: str) -> None:
        self._run.cancel(message)
        self._buffer.wake()


def content(message: WebSocketMessage) -> bytes:
    """A frame's payload, be it text or binary."""
    text: str | None = message.get("text")
    return text.encode() if text is not None else message.get("bytes") or b""
