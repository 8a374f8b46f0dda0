"""One connection to a server, and the reply that is being read from it.

In: what the socket brings. Out: the head of the reply, and its body as it arrives. A read costs two calls
of ours, one of the socket's and one of the reader's, and no task, timer, queue or lock.
"""

import asyncio
from typing import Protocol, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from deltawire.providers.http1.errors import CutError, Http1Error, InvalidReplyError, NoReplyError

_LONGEST_HEAD = 64 * 1024
_MOST_HELD = 64 * 1024
_DRAIN_SECONDS = 1.0


class Owner(Protocol):
    """Whoever keeps connections between two requests."""

    def opened(self, connection: "Connection") -> None: ...

    def keep(self, connection: "Connection") -> None:
        """Its reply is read to the end, and it can be used again."""
        ...

    def lost(self, connection: "Connection") -> None: ...


class Connection(asyncio.Protocol):
    """Takes one request at a time: ``send``, ``read`` until the end, then ``let_go`` or ``leave``."""

    __slots__ = (
        "_complete",
        "_draining",
        "_ended",
        "_failure",
        "_fed",
        "_headed",
        "_held",
        "_idle",
        "_loop",
        "_owner",
        "_parser",
        "_parts",
        "_paused",
        "_reader",
        "_reusable",
        "_timer",
        "_transport",
        "_until_close",
        "_waiter",
        "headers",
        "on_body",
        "reused",
        "status",
    )

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._parts: list[bytes] = []  # of the body, that nobody has read yet
        self.on_body = self._parts.append  # what the parser calls with each of them
        self._parser = HttpResponseParser(self)
        # What browsers forgive: control characters in a header, lines that end in LF alone, a size with spaces behind.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._waiter: asyncio.Future[None] | None = None  # for the head
        self._reader: asyncio.Future[bytes] | None = None  # for what comes of the body
        self._timer: asyncio.TimerHandle | None = None
        self._idle = True  # no request is under way
        self.reused = False
        self._begin()

    def _begin(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        """By their names in lower case."""
        self._headed = False  # the head is whole
        self._ended = False  # nothing will come any more
        self._complete = False  # all of it came
        self._failure: Http1Error | None = None
        self._fed = 0  # bytes since the last one that was of a body
        self._held = 0
        self._paused = False
        self._until_close = False
        self._reusable = False
        self._draining = False

    @property
    def usable(self) -> bool:
        """Whether it can take a request, as far as is known here."""
        return self._idle and not self._transport.is_closing()

    @property
    def content_type(self) -> str:
        """In lower case, without parameters; of a reply that names none, that of any bytes (RFC 9110, §8.3)."""
        named = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        return named or "application/octet-stream"

    async def send(self, request: bytes) -> None:
        """Send a request; return when the head of its reply stands in ``status`` and ``headers``. Raises
        ``NoReplyError`` or ``InvalidReplyError``, and then the connection is closed."""
        self._begin()  # anew: the reply before may have been left in the middle of the read that ended it
        self._idle = False
        self._transport.write(request)
        while not self._headed:
            if self._failure is not None:
                raise self._failure
            self._waiter = self._loop.create_future()
            await self._waiter

    def read(self) -> asyncio.Future[bytes]:
        """What has arrived of the body since the last call, or arrives next; no bytes at its end. What came before a
        failure comes before it, too: then ``CutError``. Whoever is cancelled in it does not read on: what had come at
        that moment is gone."""
        reader = self._reader = self._loop.create_future()
        if self._parts or self._ended:
            self._hand_out()
        return reader

    def let_go(self) -> None:
        """The reader has what it wants. What is still to come is read aside for a second, so that the connection can be
        used again."""
        if self._ended:
            self.leave()
            return
        self._draining = True
        self._parts.clear()
        self._held = 0
        if self._paused:
            self._resume()
        self._timer = self._loop.call_later(_DRAIN_SECONDS, self.abort)

    def leave(self) -> None:
        """Nobody reads on: a connection whose reply has not ended is closed at once."""
        self._parts.clear()
        self._reader = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._complete and self._reusable and not self._transport.get_write_buffer_size():
            if self._paused:
                self._resume()
            self._begin()
            self._idle = self.reused = True
            self._owner.keep(self)
        else:
            self.abort()

    def abort(self) -> None:
        """Close it at once. TLS is not asked to say goodbye: it would wait for an answer."""
        self._transport.abort()

    # What the event loop says.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports do not inherit from it
        self._owner.opened(self)

    def data_received(self, data: bytes) -> None:
        parts, headed = self._parts, self._headed
        unread = len(parts)
        try:
            if headed:
                self._parser.feed_data(data)
            else:
                self._feed_head(data)
        except HttpParserUpgrade:
            self._fail(InvalidReplyError("it switches protocols"))
        except HttpParserError:
            self._make_no_sense()
        came = len(parts) - unread
        if came > 0:
            self._fed = 0
        elif headed:  # a chunk's extension or a trailer
            self._count(len(data))
        reader = self._reader
        if reader is None:
            if came > 0:
                self._hold(len(data))
        elif came == 1 and not reader.done():  # what nearly every read brings to whoever waits
            self._reader = None
            reader.set_result(parts.pop())
        else:
            self._hand_out()

    def eof_received(self) -> None:
        self._end_of_bytes(whole=True)
        self.abort()  # else it would wait until all of a request is sent

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_of_bytes(whole=exc is None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        del self._parser  # they hold each other
        self._owner.lost(self)

    # What the parser says.

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._headed:  # a trailer
            return
        key, said = name.decode("latin-1").lower(), value.decode("latin-1").strip()
        self.headers[key] = f"{self.headers[key]}, {said}" if key in self.headers else said

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:  # an interim reply (RFC 9110, §15.2)
            self.headers = {}
            return
        if status < 200:
            self._fail(InvalidReplyError("it switches protocols"))
            return
        self.status = status
        self._headed = True
        self._fed = 0
        coding = self.headers.get("transfer-encoding")
        if coding is None:
            self._until_close = "content-length" not in self.headers and status not in (204, 304)
        else:
            self._until_close = coding.rpartition(",")[2].strip().lower() != "chunked"
        self._wake()

    def on_message_begin(self) -> None:
        if self._ended or self._idle:
            raise HttpParserError("it answers unasked")

    def on_message_complete(self) -> None:
        if not self._headed:  # an interim reply
            return
        self._reusable = self._parser.should_keep_alive()
        self._complete = self._ended = True
        self._wake()
        if self._draining:
            self.leave()

    # How these come together.

    def _feed_head(self, data: bytes) -> None:
        if self._idle:  # a server that speaks unasked
            self.abort()
            return
        room = _LONGEST_HEAD - self._fed
        self._parser.feed_data(data[:room])
        if not self._headed:
            self._count(min(len(data), room))
        if self._headed and len(data) > room:
            self._parser.feed_data(data[room:])

    def _count(self, size: int) -> None:
        self._fed += size
        if self._fed >= _LONGEST_HEAD:
            self._make_no_sense()

    def _make_no_sense(self) -> None:
        self._fail(CutError("the body makes no sense") if self._headed else InvalidReplyError("it is no HTTP/1.1"))

    def _end_of_bytes(self, *, whole: bool) -> None:
        """``whole`` tells that the server has ended them, and that nothing has torn the connection."""
        if self._idle or self._ended:
            return
        if not self._headed:
            self._fail(NoReplyError(silent=self._fed == 0))
        elif whole and self._until_close:
            self._complete = self._ended = True
            self._wake()
        else:
            self._fail(CutError("the connection ended in the middle of the body"))
        self._hand_out()

    def _fail(self, error: Http1Error) -> None:
        self._reusable = False
        if not self._ended:
            self._ended = True
            self._failure = error
            self._wake()
        self.abort()

    def _wake(self) -> None:
        """The head is whole, or will never be."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _hand_out(self) -> None:
        """To whoever reads: what has come of the body, or how it has ended."""
        reader, parts = self._reader, self._parts
        if reader is None or not (parts or self._ended):
            return
        self._reader = None
        if reader.done():  # he has left
            return
        if parts:
            reader.set_result(parts[0] if len(parts) == 1 else b"".join(parts))
            parts.clear()
            self._held = 0
            if self._paused:
                self._resume()
        elif self._failure is None:
            reader.set_result(b"")
        else:
            reader.set_exception(self._failure)
            reader.exception()  # he may have left when he would hear of it: then nobody misses it

    def _hold(self, size: int) -> None:
        """So many bytes have come for which nobody waits."""
        if self._draining:
            self._parts.clear()
            return
        self._held += size
        if self._held > _MOST_HELD and not (self._paused or self._transport.is_closing()):
            self._paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        self._paused = False
        if not self._transport.is_closing():
            self._transport.resume_reading()
