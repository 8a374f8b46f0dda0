"""A caller's connection: uvicorn's, which here ends when its caller is gone or takes nothing any more.

In: the caller's bytes. Out: calls of the app. uvicorn closes a connection by waiting until the caller has read what was
written, however long that takes; while a pipelined request waits for the reply to the one before it, it reads nothing,
and so sees no caller leave; and a caller that it has refused while that was still sending, it resets.
"""

import asyncio
from collections import deque
from typing import cast
from urllib.parse import unquote

import httptools
from starlette.types import Scope
from typing_extensions import override
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from deltawire.bootstrap.counted_transport import CountedTransport
from deltawire.bootstrap.exchange import Exchange
from deltawire.bootstrap.limited_reading import LimitedReading
from deltawire.bootstrap.small import SmallEvent, SmallQueue
from deltawire.transports.http.request import EXCHANGE
from deltawire.transports.progress import Progress

_MOST_PIPELINED = 16
"""Requests that may wait while more is read; with more of them the caller's leaving is seen late."""


class Connection(LimitedReading):
    why: str | None = None
    """Why we have closed the connection in the middle of a reply."""

    _counted: CountedTransport
    _progress: Progress
    _done: asyncio.Future[None]
    _lingering: asyncio.TimerHandle | None = None
    """Everything is said, and the caller is still sending."""

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  (so does uvicorn)
        self._counted = CountedTransport(transport)
        super().connection_made(cast("asyncio.Transport", self._counted))
        self.flow._is_writable_event = SmallEvent(is_set=True)  # pyright: ignore[reportPrivateUsage]
        self.pipeline = cast("deque[tuple[RequestResponseCycle, ASGI3Application]]", SmallQueue())
        self._progress = Progress(self.limits.write_timeout, self._counted.taken, self._unread)
        self._done = self.loop.create_future()
        self._done.set_result(None)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._progress.stop()
        if self._lingering is not None:
            self._lingering.cancel()
        for exchange in (self.answering, *(cast("Exchange", waiting) for waiting, _ in self.pipeline)):
            if exchange is not None:
                exchange.disconnect()
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
        assert self.parser is not None, "it is there until the connection is lost"
        if self.parser.should_upgrade() and self._should_upgrade():
            super().on_headers_complete()
            return
        self.head_is_complete()
        last = cast("Exchange | None", self.cycle)
        exchange = self._exchange(self.parser)
        self.cycle = cast("RequestResponseCycle", exchange)
        app = cast("ASGI3Application", self.app)
        if last is None or last.response_complete:
            self.answering = exchange
            self._start_asgi_task(self.cycle, app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, app))

    def _exchange(self, parser: httptools.HttpRequestParser) -> Exchange:
        """The request whose head is complete."""
        scope = cast("Scope", self.scope)
        version = parser.get_http_version()
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        scope["http_version"] = version
        scope["method"] = parser.get_method().decode("ascii")
        scope["raw_path"] = url.path
        scope["path"] = unquote(path) if "%" in path else path
        scope["query_string"] = url.query or b""
        exchange = Exchange(
            self,
            scope,
            self.server_state.default_headers,
            self._done,
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            # Callers of HTTP/1.0 know no interim reply (RFC 9110 §10.1.1).
            expects_continue=self.expect_100_continue and version != "1.0",
        )
        scope["extensions"] = {EXCHANGE: exchange}
        return exchange

    def replied(self) -> None:
        self.answering = cast("Exchange", self.pipeline[-1][0]) if self.pipeline else None
        self.on_response_complete()

    def close_after_reply(self) -> None:
        """A caller whose bytes find a closed socket is reset, and may never read the reply (RFC 9112 §9.6): while its
        request is not complete, only our half of the connection is closed."""
        if not self.cycle.more_body or self.pipeline:
            self.transport.close()
        else:
            self.close_when_sent()

    def reset(self) -> None:
        self._counted.reset()

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
        self.why = f"the caller took nothing of the reply for {self.limits.write_timeout:g} s (http.write_timeout)"
        self.reset()
