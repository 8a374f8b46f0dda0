"""The upstream's own tests: an upstream together with callers that keep each network read apart."""

import asyncio
import json
from types import TracebackType
from typing import cast

from tests.upstream.server import Upstream


class Caller(asyncio.Protocol):
    """A client that keeps each network read apart, so that a test sees the sends of the upstream."""

    def __init__(self) -> None:
        self.reads: list[bytes] = []
        self.error: Exception | None = None
        self._closed = asyncio.Event()
        self._news = asyncio.Event()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.reads.append(data)
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.error = exc
        self._closed.set()
        self._news.set()

    def call(self, payload: object = None, *, path: str = "/v1/chat/completions") -> None:
        content = json.dumps(payload).encode()
        self._transport.write(
            b"POST %b HTTP/1.1\r\nHost: here\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: %d\r\n\r\n%b"
            % (path.encode(), len(content), content)
        )

    async def until(self, marker: bytes) -> bytes:
        """All that came, once it holds the marker."""
        async with asyncio.timeout(20):
            while marker not in b"".join(self.reads):
                assert not self._closed.is_set(), self.reads
                self._news.clear()
                await self._news.wait()
        return b"".join(self.reads)

    async def until_closed(self) -> bytes:
        async with asyncio.timeout(20):
            await self._closed.wait()
        return b"".join(self.reads)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    async def leave(self) -> None:
        self._transport.abort()
        await self._closed.wait()


class Stage(Upstream):
    """An upstream with callers, all of which are gone at its end."""

    def __init__(self) -> None:
        super().__init__()
        self._callers: list[Caller] = []

    async def connect(self) -> Caller:
        _, caller = await asyncio.get_running_loop().create_connection(Caller, "127.0.0.1", self.port)
        self._callers.append(caller)
        return caller

    async def call(self) -> Caller:
        """A new connection with one request on it."""
        caller = await self.connect()
        caller.call()
        return caller

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        finally:
            for caller in self._callers:
                await caller.leave()
