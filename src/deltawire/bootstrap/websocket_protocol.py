"""uvicorn's WebSocket on the ``websockets`` library, but for how it ends.

In: faults of the caller, handshakes that cannot be read, a caller that is gone without a word, the server's shutdown.
Out: a refusal or a close frame that the caller gets to see, and a connection that is gone for certain.
"""

import asyncio
from asyncio.transports import BaseTransport
from http import HTTPStatus
from typing import cast

from typing_extensions import override
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from deltawire.bootstrap.counted_transport import CountedTransport
from deltawire.bootstrap.limits import limits_of
from deltawire.domain.limits import FAREWELL
from deltawire.transports.http.request import WHY
from deltawire.transports.http.websocket_connection import DRAIN
from deltawire.transports.progress import Progress

_GRACE = 1.0
"""Seconds for which what is written may still be on its way to a caller that is given up."""
_NO_PONG = 1011
_ABNORMAL = 1006  # RFC 6455 §7.4.1: it never goes over the wire


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """The protocol of one connection. uvicorn's own cuts all runs when the server shuts down, resets a caller that is
    still sending what is too large, and keeps a connection for ever whose caller does not read."""

    _counted: CountedTransport
    _progress: Progress
    _write_timeout: float

    @override
    def connection_made(self, transport: BaseTransport) -> None:
        self._write_timeout = limits_of(self.config).write_timeout
        self._counted = CountedTransport(cast("asyncio.Transport", transport))
        super().connection_made(cast("asyncio.Transport", self._counted))
        self._progress = Progress(self._write_timeout, self._counted.taken, self._unread)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._progress.stop()
        super().connection_lost(exc)

    @override
    def shutdown(self) -> None:
        """The app plays the runs to their end, and closes then."""
        self.close_timeout = FAREWELL
        if self.handshake_complete and not self.close_sent:
            self.queue.put_nowait({"type": DRAIN})  # pyright: ignore[reportArgumentType]  (a message of our own)
        else:
            super().shutdown()

    @override
    def data_received(self, data: bytes) -> None:
        """A handshake that the library cannot read (it has a body, a header of more than 8 KB, or more than 128 of
        them) is no event: uvicorn would leave the caller without a word, for ever."""
        super().data_received(data)
        if self.conn.handshake_exc is None or self.handshake_initiated or self.close_sent:
            return
        self.close_sent = True
        refusal = b"".join(self.conn.data_to_send())
        if not refusal:  # of some faults the library itself says nothing
            text = "Failed to open a WebSocket connection: the request has a body, or is none.\n"
            refusal = self.conn.reject(HTTPStatus.BAD_REQUEST, text).serialize()
        self.transport.write(refusal)
        self.transport.close()

    @override
    def handle_parser_exception(self) -> None:
        """Say why by a close frame. What the caller is still sending is read and dropped: a caller whose bytes find a
        closed socket is reset, and never reads the frame."""
        if self.close_sent:
            return
        closed = self.conn.close_sent
        assert closed is not None
        self.stop_keepalive()
        self.close_sent = True
        self._tell(closed.code, closed.reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        if not self.transport.can_write_eof():  # TLS
            self.transport.close()
            return
        self.transport.write_eof()
        self.close_timer = self.loop.call_later(self.close_timeout, self.transport.abort)
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()

    @override
    def keepalive_timeout(self) -> None:
        """A close waits until everything is written, which never happens where nobody reads."""
        super().keepalive_timeout()
        self._tell(_NO_PONG, "")
        self.loop.call_later(_GRACE, self.transport.abort)

    def _unread(self) -> None:
        why = f"the caller took nothing of its messages for {self._write_timeout:g} s (http.write_timeout)"
        self.stop_keepalive()
        self._tell(_ABNORMAL, "", why)
        self._counted.reset()

    def _tell(self, code: int, reason: str, why: str = "the caller left") -> None:
        """The app hears that the connection is over before it sends anything more, which would be its mistake."""
        self.disconnected = True
        self.writable.set()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason, WHY: why})  # pyright: ignore[reportArgumentType]  (a word of our own)
