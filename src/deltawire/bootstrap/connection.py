"""A caller's connection: uvicorn's, which here ends when its caller is gone or takes nothing any more.

In: the caller's bytes. Out: calls of the app. uvicorn closes a connection by waiting until the caller has read what was
written, however long that takes; while a pipelined request waits for the reply to the one before it, it reads nothing,
and so sees no caller leave; and a caller that it has refused while that was still sending, it resets.
"""

import asyncio
import socket
import struct
import sys
from collections.abc import Callable
from functools import partial
from typing import ClassVar, cast

from typing_extensions import override
from uvicorn._types import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from deltawire.bootstrap.http10 import answer_until_closed
from deltawire.transports.http.event_stream import ReplyNotRead

_RESET_ON_CLOSE = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
_MOST_PIPELINED = 16
"""Requests that may wait while more is read; with more of them the caller's leaving is seen late."""


class Connection(HttpToolsProtocol):
    patience: ClassVar[float] = 30.0
    """Seconds in which a caller must take something of what is left for it on a connection that is being closed."""

    _running: RequestResponseCycle | None = None
    """The request that is being answered; uvicorn's ``cycle`` is the one that came last."""
    _watch: asyncio.TimerHandle | None = None
    _unsent = 0
    _lingering: asyncio.TimerHandle | None = None
    """Everything is said, and what the caller is still sending is dropped."""

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  (so does uvicorn)
        super().connection_made(transport)
        self._of_replies = cast("asyncio.Transport", _OfReplies(transport, self._close))
        self.app = partial(self._answer, self.app)
        # One on which no request ever comes is idle, too.
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
        self._watch = self.loop.call_later(self.patience, self._look)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._watch, self._lingering):
            if timer is not None:
                timer.cancel()
        for cycle in (self._running, *(waiting for waiting, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        super().connection_lost(exc)

    @override
    def handle_websocket_upgrade(self) -> None:
        super().handle_websocket_upgrade()  # from here the connection is another protocol's, which will hear of its end
        if self._watch is not None:
            self._watch.cancel()

    @override
    def data_received(self, data: bytes) -> None:
        if self._lingering is not None:
            return
        super().data_received(data)
        few = 0 < len(self.pipeline) <= _MOST_PIPELINED
        if few and not self.transport.is_closing() and len(self.cycle.body) <= HIGH_WATER_LIMIT:
            self.flow.resume_reading()

    @override
    def on_headers_complete(self) -> None:
        last = cast("RequestResponseCycle | None", self.cycle)
        super().on_headers_complete()
        if last is None or last.response_complete:
            self._running = self.cycle
        if self.cycle is last:  # the request is for a WebSocket
            return
        self.cycle.transport = self._of_replies
        if self.scope["http_version"] == "1.0":
            answer_until_closed(self.cycle)

    @override
    def on_response_complete(self) -> None:
        self._running = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()

    async def _answer(
        self, app: ASGI3Application, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        try:
            await app(scope, receive, send)
        except ReplyNotRead:
            self._reset()
            raise

    def _close(self) -> None:
        """A caller whose bytes find a closed socket is reset, and may never read the reply (RFC 9112 §9.6): while its
        request is not complete, only our half of the connection is closed."""
        if not self.cycle.more_body or self.pipeline or not self.transport.can_write_eof():
            self.transport.close()
            return
        self._lingering = self.loop.call_later(self.patience, self.transport.close)
        self.transport.write_eof()
        self.flow.resume_reading()

    def _look(self) -> None:
        """Reset a connection that is being closed and of which nothing was taken since the last look."""
        unsent = self.transport.get_write_buffer_size() if self.transport.is_closing() else 0
        if unsent and unsent == self._unsent:
            self._reset()
            return
        self._unsent = unsent
        self._watch = self.loop.call_later(self.patience, self._look)

    def _reset(self) -> None:
        """Close without a goodbye, so that the system forgets what it holds for the caller, too."""
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.transport.abort()


class _OfReplies:
    """The connection as a reply sees it: who closes it need not know who is still sending."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = close
