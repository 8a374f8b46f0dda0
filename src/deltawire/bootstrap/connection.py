"""A caller's connection: uvicorn's, which here ends when its caller is gone or takes nothing any more.

In: the caller's bytes. Out: calls of the app. uvicorn closes a connection by waiting until the caller has read what was
written, however long that takes; while a pipelined request waits for the reply to the one before it, it reads nothing,
and so sees no caller leave; and a caller that it has refused while that was still sending, it resets.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import cast

from typing_extensions import override
from uvicorn._types import ASGI3Application, ASGIReceiveCallable, ASGIReceiveEvent, ASGISendCallable, Scope
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from deltawire.bootstrap.counted_transport import CountedTransport
from deltawire.bootstrap.http10 import answer_until_closed
from deltawire.bootstrap.limited_reading import LimitedReading
from deltawire.bootstrap.small import SmallEvent, SmallQueue
from deltawire.transports.http.event_stream import ReplyNotRead
from deltawire.transports.http.request import WHY
from deltawire.transports.progress import Progress

_MOST_PIPELINED = 16
"""Requests that may wait while more is read; with more of them the caller's leaving is seen late."""


class Connection(LimitedReading):
    _counted: CountedTransport
    _progress: Progress
    _lingering: asyncio.TimerHandle | None = None
    """Everything is said, and the caller is still sending."""
    _why: str | None = None
    """Why we have closed the connection in the middle of a reply."""

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  (so does uvicorn)
        self._counted = CountedTransport(transport)
        super().connection_made(cast("asyncio.Transport", self._counted))
        self.flow._is_writable_event = SmallEvent(is_set=True)  # pyright: ignore[reportPrivateUsage]
        self.pipeline = cast("deque[tuple[RequestResponseCycle, ASGI3Application]]", SmallQueue())
        self._progress = Progress(self.limits.write_timeout, self._counted.taken, self._unread)
        self._of_replies = cast("asyncio.Transport", _OfReplies(self._counted, self._close))
        self.app = partial(self._answer, self.app)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._progress.stop()
        if self._lingering is not None:
            self._lingering.cancel()
        for cycle in (self.answering, *(waiting for waiting, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        super().connection_lost(exc)

    @override
    def handle_websocket_upgrade(self) -> None:
        if self.answering is not None and not self.answering.response_complete:
            self.send_400_response("")  # else the reply would be written in the middle of the WebSocket's frames
            return
        super().handle_websocket_upgrade()  # from here the connection is another protocol's, which will hear of its end
        self._progress.stop()

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        few = 0 < len(self.pipeline) <= _MOST_PIPELINED
        if few and not self.transport.is_closing() and len(self.cycle.body) <= HIGH_WATER_LIMIT:
            self.flow.resume_reading()

    @override
    def on_headers_complete(self) -> None:
        last = cast("RequestResponseCycle | None", self.cycle)
        super().on_headers_complete()
        if last is None or last.response_complete:
            self.answering = self.cycle
        if self.cycle is last:  # the request is for a WebSocket
            return
        self.cycle.transport = self._of_replies
        self.cycle.message_event = SmallEvent()
        if self.scope["http_version"] == "1.0":
            answer_until_closed(self.cycle)

    @override
    def on_response_complete(self) -> None:
        self.answering = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()

    async def _answer(
        self, app: ASGI3Application, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        async def received() -> ASGIReceiveEvent:
            message = await receive()
            if self._why is not None and message["type"] == "http.disconnect":
                message = cast("ASGIReceiveEvent", {**message, WHY: self._why})
            return message

        try:
            await app(scope, received, send)
        except ReplyNotRead:
            self._counted.reset()
            raise

    def _close(self) -> None:
        """A caller whose bytes find a closed socket is reset, and may never read the reply (RFC 9112 §9.6): while its
        request is not complete, only our half of the connection is closed."""
        if not self.cycle.more_body or self.pipeline:
            self.transport.close()
        else:
            self.close_when_sent()

    @override
    def close_when_sent(self) -> None:
        self.is_refused = True
        if not self.transport.can_write_eof():
            self.transport.close()
            return
        self._lingering = self.loop.call_later(self.limits.write_timeout, self.transport.close)
        self.transport.write_eof()
        self.flow.resume_reading()

    def _unread(self) -> None:
        self._why = f"the caller took nothing of the reply for {self.limits.write_timeout:g} s (http.write_timeout)"
        self._counted.reset()


class _OfReplies:
    """The connection as a reply sees it: who closes it need not know who is still sending."""

    __slots__ = ("_transport", "close")

    def __init__(self, transport: CountedTransport, close: Callable[[], None]) -> None:
        self._transport = transport
        self.close = close

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    def is_closing(self) -> bool:
        return self._transport.is_closing()
