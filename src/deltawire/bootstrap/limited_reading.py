"""What a caller may send, and how slowly: uvicorn reads requests of any size, for ever.

In: the caller's bytes, on their way to the parser. Out: a refusal in plain text, before anything is called, for a head
that is too large or does not end, and for what is no HTTP; a close for a body whose reply is out and that does not end.
A body that is still wanted has its limit where it is read.
"""

import asyncio
from http import HTTPStatus
from typing import NoReturn, cast

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from deltawire.bootstrap.exchange import Exchange
from deltawire.bootstrap.limits import limits_of
from deltawire.transports.http.settings import HttpSettings

_AROUND_A_FIELD = len(b": \r\n")


class LimitedReading(HttpToolsProtocol):
    limits: HttpSettings
    answering: Exchange | None = None
    """The request that is being answered; uvicorn's ``cycle`` is the one that came last. While there is one, the caller
    may take its time with what comes after it."""
    is_refused = False
    """What comes from the caller is dropped."""

    _in_head = False
    _in_body = False
    _head_size = 0
    _head_received = 0
    """Bytes of reads that were nothing but a head; of a field that does not end, the parser says nothing."""
    _handed_over = False
    _overdue: asyncio.TimerHandle | None = None
    _refusal: tuple[HTTPStatus, str] | None = None

    def close_when_sent(self) -> None:
        """Close the connection, so that a caller who is still sending gets what was written."""
        raise NotImplementedError

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  (so does uvicorn)
        super().connection_made(transport)
        self.limits = limits_of(self.config)
        self._wait_for_a_request()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._in_time()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()  # uvicorn leaves it where the connection broke

    @override
    def data_received(self, data: bytes) -> None:
        if self.is_refused:
            return
        was_in_head = self._in_head
        super().data_received(data)
        if was_in_head and self._in_head:
            self._head_received += len(data)
            if self._head_received > self.limits.max_header_bytes and not self.transport.is_closing():
                self._refusal = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, self._too_large()
                self.send_400_response("")
        if not (self._handed_over or self.is_refused or self.answering is not None or self.transport.is_closing()):
            self._expect_the_rest()

    @override
    def handle_websocket_upgrade(self) -> None:
        self._handed_over = True
        super().handle_websocket_upgrade()

    @override
    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._head_size = self._head_received = 0

    @override
    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._head_size += len(url)
        if self._head_size > self.limits.max_header_bytes:
            self._refuse_the_head(self._too_large())

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        """All that uvicorn does with one, and the limits: there are many of them in each request."""
        self._head_size = size = self._head_size + len(name) + len(value) + _AROUND_A_FIELD
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        headers, limits = self.headers, self.limits
        headers.append((name, value))
        if size > limits.max_header_bytes:
            self._refuse_the_head(self._too_large())
        if len(headers) > limits.max_headers:
            self._refuse_the_head(f"The request has more than {limits.max_headers} headers (http.max_headers).\n")

    @override
    def on_headers_complete(self) -> None:
        """Of a request that is for a WebSocket."""
        self.head_is_complete()
        super().on_headers_complete()

    def head_is_complete(self) -> None:
        self._in_head = False
        self._in_body = True
        self._in_time()

    @override
    def on_message_complete(self) -> None:
        self._in_body = False
        self._in_time()
        super().on_message_complete()

    @override
    def send_400_response(self, msg: str) -> None:
        status, text = self._refusal or (HTTPStatus.BAD_REQUEST, msg)
        self._in_time()
        self.is_refused = True
        answering = self.answering
        if answering is not None and not (self._in_body and cast("object", self.cycle) is answering):
            self.cycle.keep_alive = False  # the replies to what came before are written first
            return
        if answering is None or not answering.response_started:
            about = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(text))]
            fields = [*self.server_state.default_headers, *about, (b"connection", b"close")]
            lines = b"".join(b"%s: %s\r\n" % field for field in fields)
            self.transport.write(STATUS_LINE[status] + lines + b"\r\n" + text.encode())
        if answering is None:
            self.close_when_sent()
        else:
            self.transport.close()

    def _expect_the_rest(self) -> None:
        """Once for a head, and once for a body: further bytes win no time."""
        if not (self._in_head or self._in_body):
            self._wait_for_a_request()
        elif self._overdue is None:
            limit = self.limits.header_timeout if self._in_head else self.limits.body_timeout
            self._overdue = self.loop.call_later(limit, self._is_overdue)

    def _wait_for_a_request(self) -> None:
        """One on which none comes is idle, be it the first or one after another's late end."""
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _in_time(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None

    def _is_overdue(self) -> None:
        self._overdue = None
        if self._in_body:  # of a request that is answered
            self.transport.close()
            return
        text = f"The request's head was not complete within {self.limits.header_timeout:g} s (http.header_timeout).\n"
        self._refusal = HTTPStatus.REQUEST_TIMEOUT, text
        self.send_400_response("")

    def _too_large(self) -> str:
        return f"The request's head is larger than {self.limits.max_header_bytes} bytes (http.max_header_bytes).\n"

    def _refuse_the_head(self, text: str) -> NoReturn:
        """Raises out of the parser, which then stops, and asks for a refusal."""
        self._refusal = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, text
        raise ValueError(text)
