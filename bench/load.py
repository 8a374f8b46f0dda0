"""The callers: many streams at once, their tokens counted in raw bytes, their text checked when all is over."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast

import httptools

from bench.closed_loop import ClosedLoop, HttpAsker, LoopCaller
from bench.tokens import MARK


class Callers(Protocol):
    """A number of callers of one server, each with a stream of its own."""

    async def open(self, streams: int, *, over: float) -> None:
        """Open so many streams, spread over that many seconds; 0: all at once."""
        ...

    @property
    def tokens(self) -> int:
        """How many tokens have come so far, over all streams."""
        ...

    @property
    def received(self) -> int:
        """How many bytes have come so far, over all connections."""
        ...

    @property
    def waiting(self) -> int:
        """How many streams have not got a token yet."""
        ...

    @property
    def waits(self) -> list[float]:
        """Seconds from the opening of all streams to the first token of each that has got one."""
        ...

    async def begun(self) -> None:
        """Return when every stream has got a token, or has ended without one."""
        ...

    async def closed(self) -> None:
        """Return when every stream is over."""
        ...

    def leave(self) -> None:
        """Leave every stream that is not over."""
        ...

    def pieces(self) -> list[list[str]] | str:
        """The text that each has got, piece by piece; or what was wrong with one that has got no whole answer."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """What callers ask of a server, and how the pieces of text are found in the body that it sends."""

    path: str
    body: bytes
    pieces_of: Callable[[bytes], list[str]]
    accept: str = "text/event-stream"
    content_type: str = "application/json"

    def load(self, port: int) -> Callers:
        return Load(port, self)

    def loop(self, port: int, callers: int, rest: float) -> ClosedLoop:
        """So many callers that ask again and again, each on a connection that it keeps."""

        async def connect(loop: ClosedLoop) -> Sequence[LoopCaller]:
            return await connected(port, callers, lambda: HttpAsker(loop, self.request(port, kept=True)))

        return ClosedLoop(connect, self.answer, self.pieces_of, rest=rest)

    def request(self, port: int, *, kept: bool = False) -> bytes:
        lines = [
            f"POST {self.path} HTTP/1.1",
            f"host: 127.0.0.1:{port}",
            f"accept: {self.accept}",
            f"content-type: {self.content_type}",
            f"content-length: {len(self.body)}",
            *([] if kept else ["connection: close"]),
        ]
        return "\r\n".join([*lines, "", ""]).encode() + self.body

    def after_head(self) -> bytes:
        """What a caller sends when the server has answered for the first time."""
        return b""

    def reply(self, data: bytes) -> bytes:  # noqa: ARG002 (for calls that need it)
        """What a caller sends at once when it has read this."""
        return b""

    def tokens(self, data: bytes) -> int:
        """How many tokens are in what was read."""
        return data.count(MARK)

    def over(self, data: bytes) -> bool:  # noqa: ARG002 (for calls that need it)
        """Whether it is for the caller to close the connection now."""
        return False

    def answer(self, reads: list[bytes]) -> tuple[int, bytes]:
        """Status and body; status 0 when the answer is not whole."""
        return _answer(reads)


_AskerT = TypeVar("_AskerT", bound=asyncio.Protocol)


async def connected(port: int, callers: int, make: Callable[[], _AskerT]) -> list[_AskerT]:
    """So many connections, each with a protocol of its own."""
    loop = asyncio.get_running_loop()
    return [(await loop.create_connection(make, "127.0.0.1", port))[1] for _ in range(callers)]


class Load:
    """Callers over HTTP/1.1, each with a connection of its own."""

    def __init__(self, port: int, call: Call) -> None:
        self._port = port
        self._call = call
        self._callers: list[_Caller] = []
        self._begun = 0.0

    async def open(self, streams: int, *, over: float) -> None:
        self._begun = time.monotonic()
        if over:
            for number in range(streams):
                await asyncio.sleep(self._begun + over * number / streams - time.monotonic())
                self._callers.append(await self._connected())
        else:
            self._callers += await asyncio.gather(*(self._connected() for _ in range(streams)))

    async def _connected(self) -> "_Caller":
        (caller,) = await connected(self._port, 1, lambda: _Caller(self._call, self._port))
        return caller

    @property
    def tokens(self) -> int:
        return sum(caller.tokens for caller in self._callers)

    @property
    def received(self) -> int:
        return sum(caller.received for caller in self._callers)

    @property
    def waits(self) -> list[float]:
        return [caller.first - self._begun for caller in self._callers if caller.first]

    async def begun(self) -> None:
        for caller in self._callers:
            await caller.begun.wait()

    @property
    def waiting(self) -> int:
        return sum(caller.tokens == 0 for caller in self._callers)

    async def closed(self) -> None:
        for caller in self._callers:
            await caller.closed.wait()

    def leave(self) -> None:
        for caller in self._callers:
            caller.leave()

    def pieces(self) -> list[list[str]] | str:
        streams: list[list[str]] = []
        for caller in self._callers:
            status, body = self._call.answer(caller.reads)
            if status != 200:
                return f"a reply with status {status}: {body[:200]!r}"
            streams.append(self._call.pieces_of(body))
        return streams


class _Caller(asyncio.Protocol):
    def __init__(self, call: Call, port: int) -> None:
        self._call = call
        self._port = port
        self._transport: asyncio.Transport
        self.tokens = 0
        self.received = 0
        self.first = 0.0
        """When its first token came, by the monotonic clock."""
        self.reads: list[bytes] = []
        self.begun = asyncio.Event()
        self.closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._call.request(self._port))

    def data_received(self, data: bytes) -> None:
        if not self.reads:
            self._transport.write(self._call.after_head())
        self.tokens += self._call.tokens(data)
        self.received += len(data)
        self.reads.append(data)
        if reply := self._call.reply(data):
            self._transport.write(reply)
        if self._call.over(data):
            self._transport.close()
        if self.tokens and not self.first:
            self.first = time.monotonic()
            self.begun.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (the name is the base class's)
        self.begun.set()
        self.closed.set()

    def leave(self) -> None:
        self._transport.abort()


class _Answer:
    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.whole = False

    def on_body(self, body: bytes) -> None:
        self.pieces.append(body)

    def on_message_complete(self) -> None:
        self.whole = True


def _answer(reads: list[bytes]) -> tuple[int, bytes]:
    """Status and body of one reply; status 0 when it is not a whole HTTP reply."""
    answer = _Answer()
    parser = httptools.HttpResponseParser(answer)
    try:
        for data in reads:
            parser.feed_data(data)
    except httptools.HttpParserError:
        return 0, b"".join(reads)
    return (parser.get_status_code() if answer.whole else 0), b"".join(answer.pieces)
