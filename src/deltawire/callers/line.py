"""One caller's connection over HTTP/1.1, kept from request to request, that counts what it brings."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter

from typing_extensions import override

from deltawire.callers import failures
from deltawire.callers.answer import Answer
from deltawire.callers.deployment import Deployment, between
from deltawire.providers.http1.connection import Connection
from deltawire.providers.http1.content_coding import plain
from deltawire.providers.http1.errors import Http1Error, NoReplyError, UnreachableError

_LONGEST_REFUSAL = 64 * 1024
_REFUSAL_SECONDS = 1.0
_DIAL_SECONDS = 10.0
_STALE_SECONDS = 0.25


class _Counting(Connection):
    __slots__ = ("received",)

    received: int

    @override
    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        super().data_received(data)


class Line:
    """Implements ``connection.Owner``."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._open: set[Connection] = set()
        self._kept: _Counting | None = None
        self._emptied = asyncio.Event()

    async def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes, answer: Answer) -> "Reply":
        """A reply of status 200. Raises ``CallFailedError``."""
        request = self._deployment.head.encode(path, headers, len(body), method) + body
        kept, self._kept = self._kept, None
        try:
            if kept is not None and kept.usable:
                try:
                    return await self._asked(kept, request, answer)
                except NoReplyError as error:
                    if not (error.silent and perf_counter() - answer.sent < _STALE_SECONDS):
                        raise
                    # It was closed from the other side before: every client asks again then.
            return await self._asked(await self._dialed(answer), request, answer)
        except Http1Error as error:
            raise failures.from_connection(error) from error

    async def close(self) -> None:
        for connection in tuple(self._open):
            connection.abort()
        if self._open:
            self._emptied.clear()
            await self._emptied.wait()

    async def _dialed(self, answer: Answer) -> _Counting:
        connection, began = _Counting(self), perf_counter()
        connection.received = 0
        try:
            async with asyncio.timeout(_DIAL_SECONDS):
                await self._deployment.dialer.dial(lambda: connection)
        except TimeoutError:
            self.lost(connection)
            raise UnreachableError(f"no connection within {_DIAL_SECONDS:g} s") from None
        except BaseException:
            self.lost(connection)  # cancelled when it just stood, uvloop closes it and tells it nothing
            raise
        answer.dialing = perf_counter() - began
        return connection

    async def _asked(self, connection: _Counting, request: bytes, answer: Answer) -> "Reply":
        connection.received = 0
        answer.sent = perf_counter()
        try:
            await connection.send(request)
            answer.between = between(connection.headers)
            if connection.status != 200:
                body = await _refusal(connection)
                answer.received = connection.received
                raise failures.from_status(connection.status, connection.headers, body)
            read = plain(connection.headers.get("content-encoding", ""), connection.read)
        except BaseException:
            connection.leave()
            raise
        return Reply(connection, read, answer)

    # What the connections say.

    def opened(self, connection: Connection) -> None:
        self._open.add(connection)

    def keep(self, connection: Connection) -> None:
        assert isinstance(connection, _Counting)
        self._kept = connection

    def lost(self, connection: Connection) -> None:
        self._open.discard(connection)
        if self._kept is connection:
            self._kept = None
        if not self._open:
            self._emptied.set()


class Reply:
    """Of status 200. To be left, however reading it went."""

    def __init__(self, connection: _Counting, read: Callable[[], Awaitable[bytes]], answer: Answer) -> None:
        self._connection = connection
        self._read = read
        self._answer = answer
        self.headers = connection.headers
        self.content_type = connection.content_type

    async def read(self) -> bytes:
        """What has arrived, or arrives next; no bytes at the end. Raises ``CallFailedError``."""
        try:
            return await self._read()
        except Http1Error as error:
            raise failures.from_connection(error) from error

    def leave(self) -> None:
        """One that has not ended takes its connection with it."""
        self._answer.received = self._connection.received
        self._connection.leave()


async def _refusal(connection: Connection) -> bytes:
    """A status says enough: the body is read as far as it comes soon."""
    body = b""
    try:
        read = plain(connection.headers.get("content-encoding", ""), connection.read)
        async with asyncio.timeout(_REFUSAL_SECONDS):
            while len(body) < _LONGEST_REFUSAL and (part := await read()):
                body += part
    except (TimeoutError, Http1Error):
        pass
    return body
