"""One request and its reply, as the app sees them (ASGI 3.0, "HTTP"), in place of uvicorn's cycle.

In: the request's body as it comes, and the app's messages. Out: the reply's bytes (RFC 9112), the head in one write
with what comes first of the body. While the caller takes what is sent, a message costs no coroutine.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from starlette.types import ASGIApp, Message, Scope
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from deltawire.bootstrap.small import SmallEvent
from deltawire.transports.http.event_stream import ReplyNotRead, ResponseAborted
from deltawire.transports.http.replies import Header
from deltawire.transports.http.request import WHY

logger = logging.getLogger("deltawire.http")

_BODILESS = (204, 304)  # RFC 9110 §6.4.1
_LENGTH = b"\r\ncontent-length: "
_FAILURE = b"Internal Server Error"
_LEFT = "the caller left"
_OVER: Scope = {}
"""In place of the scope of a request that is over: the two hold each other."""


class Caller(Protocol):
    """The connection."""

    flow: FlowControl
    transport: asyncio.Transport
    why: str | None
    """Why we have closed it in the middle of a reply, where we have."""

    def close_after_reply(self) -> None:
        """When everything that was written is sent."""
        ...

    def reset(self) -> None: ...

    def replied(self) -> None:
        """The reply is complete."""
        ...


class Exchange:
    """Implements ``transports.http.request.Exchange``. What has no underscore, uvicorn's protocol uses."""

    __slots__ = (
        "_caller",
        "_chunked",
        "_common",
        "_done",
        "_head",
        "_left",
        "_remaining",
        "_scope",
        "_silent",
        "body",
        "disconnected",
        "keep_alive",
        "message_event",
        "more_body",
        "response_complete",
        "response_started",
        "waiting_for_100_continue",
    )

    def __init__(
        self,
        caller: Caller,
        scope: Scope,
        common: list[Header],
        done: "asyncio.Future[None]",
        *,
        keep_alive: bool,
        expects_continue: bool,
    ) -> None:
        """``common`` are the headers of every reply. ``done`` is what a message of which nothing is left to be awaited
        is awaited by."""
        self._caller = caller
        self._scope = scope
        self._common = common
        self._done = done
        self._head = b""  # that is not written yet
        self._chunked = False
        self._remaining: int | None = None  # of the length that the head has told
        self._silent = False  # what the app sends as a body is not to be sent
        self._left: Callable[[str], None] | None = None
        self.body = bytearray()  # that the app has not received yet
        self.more_body = True
        self.message_event = SmallEvent()
        self.disconnected = False
        self.keep_alive = keep_alive
        self.response_started = False
        self.response_complete = False
        self.waiting_for_100_continue = expects_continue

    # What the app is given.

    def whole_body(self) -> bytes | None:
        if self.more_body or self.disconnected or self.waiting_for_100_continue:
            return None
        body, self.body = bytes(self.body), bytearray()
        return body

    def when_left(self, left: Callable[[str], None] | None) -> None:
        self._left = left
        if left is not None and self.disconnected:
            left(self._caller.why or _LEFT)

    async def receive(self) -> Message:
        caller = self._caller
        if self.waiting_for_100_continue:
            self.waiting_for_100_continue = False
            if not self.disconnected:
                caller.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self.disconnected and not self.response_complete:
            caller.flow.resume_reading()
            await self.message_event.wait()
            self.message_event.clear()
        if self.disconnected or self.response_complete:
            over: Message = {"type": "http.disconnect"}
            return over if caller.why is None else {**over, WHY: caller.why}
        body, self.body = bytes(self.body), bytearray()
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    def send(self, message: Message) -> Awaitable[None]:
        """To be awaited: a caller that reads slowly is waited for before the message is written."""
        caller = self._caller
        if self.disconnected:
            return self._done
        if caller.flow.write_paused:
            return self._send_when_there_is_room(message)
        if not self.response_started:
            self._begin(message)
            return self._done
        if self.response_complete:
            raise RuntimeError("the reply is complete already")
        body: bytes = message.get("body", b"")
        more: bool = message.get("more_body", False)
        if self._chunked:
            part = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            if not more:
                part += b"0\r\n\r\n"
        else:
            part = self._unchunked(body, more=more)
        if self._head:
            part, self._head = self._head + part, b""
        if part:
            caller.transport.write(part)
        if not more:
            self.response_complete = True
            self.message_event.set()
            if not self.keep_alive:
                caller.close_after_reply()
            caller.replied()
        return self._done

    # What the connection does with it.

    async def run_asgi(self, app: ASGIApp) -> None:
        """Raises nothing: whatever fails is logged here, and told to the caller as far as it can be."""
        try:
            await app(self._scope, self.receive, self.send)
            if not self.response_complete and not self.disconnected:
                logger.error("the app has not answered completely: %s", self._scope["path"])
                self._fail()
        except ReplyNotRead:
            self._caller.reset()
        except ResponseAborted:
            self._fail()
        except asyncio.CancelledError:  # the server ends
            self._fail()
        except BaseException:
            logger.exception("the app failed: %s", self._scope["path"])
            self._fail()
        finally:
            self._left = None
            self._scope = _OVER

    def disconnect(self) -> None:
        """The caller is gone, or was given up."""
        if self.response_complete or self.disconnected:
            return
        self.disconnected = True
        self.message_event.set()
        if self._left is not None:
            self._left(self._caller.why or _LEFT)

    async def _send_when_there_is_room(self, message: Message) -> None:
        await self._caller.flow.drain()
        await self.send(message)

    def _begin(self, message: Message) -> None:
        """The head. Raises ``RuntimeError`` for a header that would be more than one line."""
        status: int = message["status"]
        lines = [b"%b: %b" % header for header in (*self._common, *message["headers"])]
        head = STATUS_LINE[status] + b"\r\n".join(lines) + b"\r\n" if lines else STATUS_LINE[status]
        if head.count(b"\n") != len(lines) + 1 or head.count(b"\r") != len(lines) + 1 or b"\0" in head:
            raise RuntimeError("a header of the reply holds a line break or a NUL")
        at = head.find(_LENGTH)
        if at >= 0:
            self._remaining = int(head[at + len(_LENGTH) : head.index(b"\r", at + len(_LENGTH))])
        self._silent = self._scope["method"] == "HEAD" or status in _BODILESS
        if b"\r\nconnection: close\r\n" in head:
            self.keep_alive = False
        elif not self.keep_alive:
            head += b"connection: close\r\n"
        # A caller of HTTP/1.0 knows no chunks (RFC 9112 §6.1): to him the connection's end is the body's.
        if at < 0 and not self._silent and self._scope["http_version"] != "1.0":
            self._chunked = True
            head += b"transfer-encoding: chunked\r\n"
        self._head = head + b"\r\n"
        self.response_started = True
        self.waiting_for_100_continue = False

    def _unchunked(self, body: bytes, *, more: bool) -> bytes:
        """Where no length was told either, the body ends with the connection. Raises ``RuntimeError`` for a body of
        another length than was told."""
        if self._silent:
            return b""
        if self._remaining is not None:
            self._remaining -= len(body)
            if self._remaining < 0 or (self._remaining and not more):
                raise RuntimeError("the reply's body has not the length that its head tells")
        return body

    def _fail(self) -> None:
        """Tell it by a status, or, where one is out already, by cutting the reply."""
        if self.disconnected or self.response_complete:
            return
        if self.response_started or self._caller.flow.write_paused:  # nobody waits here until there is room
            self.keep_alive = False
            self._caller.close_after_reply()
            return
        about = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(_FAILURE))]
        self.keep_alive = False
        self.send({"type": "http.response.start", "status": 500, "headers": about})
        self.send({"type": "http.response.body", "body": _FAILURE})
