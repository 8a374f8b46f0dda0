"""``/v1/ws``: many runs on one WebSocket (RFC 6455), subprotocol ``deltawire.v1``.

In: messages that start or cancel a run. Out: the runs' events, each with its run's id. One task reads, one writes, and
each run has one of its own. ``websocket_messages`` says what the messages are.
"""

import asyncio
from collections.abc import MutableMapping
from contextlib import aclosing, suppress
from typing import Any

from starlette.types import Receive, Scope, Send

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Started
from deltawire.engine.engine import Engine, Run
from deltawire.transports.http import websocket_messages as messages
from deltawire.transports.http.replies import replying, send_problem
from deltawire.transports.http.settings import HttpSettings
from deltawire.transports.http.websocket_messages import CancelMessage, RunMessage
from deltawire.transports.http.websocket_outbox import Buffer, Outbox

SUBPROTOCOL = "deltawire.v1"
DRAIN = "websocket.deltawire.drain"
"""A message of our own server, beside those of ASGI: the server shuts down, no new run shall begin."""

_TOO_BIG = 1009  # RFC 6455 §7.4.1
_RESTART = 1012  # the registry of close codes that RFC 6455 §11.7 opened
_GRACE = 1.0
"""Seconds for which a run whose time is over may still wait for its caller to read."""


class WebSocket:
    """An ASGI app for the scope ``websocket``."""

    def __init__(self, engine: Engine, settings: HttpSettings) -> None:
        self._engine = engine
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        offered: list[str] = scope["subprotocols"]
        if offered and SUBPROTOCOL not in offered:
            # A browser drops a connection for which none of its subprotocols was chosen, and tells nobody why.
            error = RunError(Reason.not_acceptable, f"none of the subprotocols suits; offered: {SUBPROTOCOL}")
            await send_problem(replying(scope, send), self._engine.arrive("http").refuse(error))
            return
        await receive()  # websocket.connect
        await send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL if offered else None})
        await _Connection(self._engine, self._settings, receive, send).serve()


class UpgradeRequired:
    """An ASGI app for a GET that is no handshake: often one whose headers a proxy has dropped."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        error = RunError(
            Reason.upgrade_required,
            f"{scope['path'][:100]} is a WebSocket; a proxy on the way must pass the headers Upgrade and Connection on",
        )
        headers = [(b"upgrade", b"websocket"), (b"connection", b"upgrade")]
        await send_problem(send, self._engine.arrive("http").refuse(error), headers)


class NoWebSocket:
    """An ASGI app for handshakes at paths where no WebSocket is."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        error = RunError(Reason.unknown_path, f"no WebSocket is at {scope['path'][:100]}; it is at /v1/ws")
        await send_problem(replying(scope, send), self._engine.arrive("http").refuse(error))


class _Connection:
    """One socket, from its acceptance until its caller has left."""

    def __init__(self, engine: Engine, settings: HttpSettings, receive: Receive, send: Send) -> None:
        self._engine = engine
        self._settings = settings
        self._receive = receive
        self._send = send
        self._live: dict[str, _LiveRun] = {}
        self._outbox = Outbox()
        self._stray = self._outbox.buffer(None)
        """For errors that belong to no run."""
        self._draining = False
        self._close: tuple[int, str] | None = None

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(self._write())
            try:
                await self._read(tasks)
            finally:
                self._outbox.close()
                for live in self._live.values():
                    live.cancel("the caller left")
                writer.cancel()

    async def _read(self, tasks: asyncio.TaskGroup) -> None:
        while True:
            message = await self._receive()
            match message["type"]:
                case "websocket.receive" if self._close is None:
                    await self._take(_content(message), tasks)
                case "websocket.disconnect":
                    return
                case type_ if type_ == DRAIN:
                    self._draining = True
                    self._outbox.wake()
                case _:
                    pass

    async def _take(self, content: bytes, tasks: asyncio.TaskGroup) -> None:
        limit = self._settings.max_body_bytes
        if len(content) > limit:  # our own server has checked before the message was read; another may not
            self._close = (_TOO_BIG, f"message with {len(content)} bytes exceeds limit of {limit} bytes")
            self._outbox.wake()
            return
        try:
            match messages.read(content):
                case CancelMessage(id=run):
                    if run in self._live:
                        self._live[run].cancel("the caller canceled the run")
                case message:
                    self._start(message, tasks)
        except RunError as error:
            run = messages.id_in(content, error)
            self._refuse(error, run if run not in self._live else None)
        if self._stray.full:  # whoever sends nonsense faster than it reads what we say to it is slowed
            await self._stray.room()

    def _start(self, message: RunMessage, tasks: asyncio.TaskGroup) -> None:
        if message.id in self._live:
            # Without an id: with it, the caller would take it for the end of the run that has it.
            raise RunError(Reason.duplicate_id, f"a run with the id '{message.id}' is under way on this socket")
        limit = self._settings.max_runs_per_socket
        if self._draining:
            self._refuse(RunError(Reason.draining, "the server is shutting down; connect again"), message.id)
        elif len(self._live) >= limit:
            error = RunError(Reason.overloaded, f"{limit} runs are under way on this socket (http.max_runs_per_socket)")
            self._refuse(error, message.id)
        else:
            live = _LiveRun(self._engine.arrive("ws"), message, self._outbox.buffer(message.id))
            self._live[message.id] = live
            tasks.create_task(live.play())

    def _refuse(self, error: RunError, run: str | None) -> None:
        self._stray.put(messages.Encoder(run).event(self._engine.arrive("ws").refuse(error)))

    async def _write(self) -> None:
        """Empty the buffers in turns, until the connection is closed or there is a reason to close it."""
        with suppress(OSError):  # the caller left; the reader is told so too
            while self._close is None:
                if self._draining and not self._live and self._outbox.empty:
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
            del self._live[buffer.run]
        for message in taken:
            await self._send({"type": "websocket.send", "text": message.decode()})
        buffer.wake()


class _LiveRun:
    """A run on a socket, and the buffer that its events go into."""

    def __init__(self, run: Run, message: RunMessage, buffer: Buffer) -> None:
        self._run = run
        self._message = message
        self._buffer = buffer

    async def play(self) -> None:
        """A full buffer pauses this run only: it asks its provider for no more. When its time is over it goes on all
        the same, so that the engine can end it."""
        time = asyncio.get_running_loop().time
        began, limit = time(), 0.0
        buffer = self._buffer
        async with aclosing(self._run.events(self._message.function, self._message)) as events:
            async for event in events:
                if isinstance(event, Started):
                    limit = event.timeout
                buffer.add(event)
                if buffer.full and not buffer.over:
                    await buffer.room(began + limit + _GRACE)

    def cancel(self, message: str) -> None:
        self._run.cancel(message)
        self._buffer.wake()


def _content(message: MutableMapping[str, Any]) -> bytes:
    """A frame's payload, be it text or binary."""
    text: str | None = message.get("text")
    return text.encode() if text is not None else message.get("bytes") or b""
