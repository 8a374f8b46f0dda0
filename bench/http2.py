"""Callers of gRPC: a few connections of many streams each, with as little of HTTP/2 (RFC 9113) as a caller needs.

The official client costs some 25 µs a message in two threads: it would be the limit that is measured. What a server
meets here is the same, except that the windows are as wide as they can be; at this pace they would seldom be renewed.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import cast

from typing_extensions import override

from bench.closed_loop import Asked, ClosedLoop, LoopCaller
from bench.enveloped import envelope, pieces_of_protobuf
from bench.load import Callers, connected
from bench.tokens import MARK

_CONNECTIONS = 4

_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
_END_STREAM = _ACK = 0x1
_END_HEADERS = 0x4
_WIDEST = 2**31 - 1

_NO_HEADER_TABLE, _WIDE_STREAMS = (1, 0), (4, _WIDEST)
_SUCCESS = b"grpc-status\x010"
"""In the trailers, as whoever has no header table must be sent it (RFC 7541 §6.2.2)."""


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


_HELLO = (
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    + _frame(
        _SETTINGS,
        0,
        0,
        b"".join(key.to_bytes(2) + value.to_bytes(4) for key, value in (_NO_HEADER_TABLE, _WIDE_STREAMS)),
    )
    + _frame(_WINDOW_UPDATE, 0, 0, (_WIDEST - 65535).to_bytes(4))
)


@dataclass(frozen=True, slots=True)
class GrpcCall:
    """What callers ask of a server."""

    path: str
    message: bytes

    def load(self, port: int) -> Callers:
        return Http2Load(port, self)

    def loop(self, port: int, callers: int, rest: float) -> ClosedLoop:
        """So many callers that ask again and again, in turns on a few connections that they keep."""

        async def connect(loop: ClosedLoop) -> list[LoopCaller]:
            connections = await connected(port, min(_CONNECTIONS, callers), _Connection)
            return [_Asker(loop, connections[number % len(connections)], self, port) for number in range(callers)]

        return ClosedLoop(connect, _whole, pieces_of_protobuf, rest=rest)

    def request(self, port: int, stream: int) -> bytes:
        fields = [
            (b":path", self.path.encode()),
            (b":authority", b"127.0.0.1:%d" % port),
            (b"te", b"trailers"),
            (b"content-type", b"application/grpc+proto"),
        ]
        post, http = b"\x83", b"\x86"
        literal = b"".join(b"\0" + _string(name) + _string(value) for name, value in fields)
        return _frame(_HEADERS, _END_HEADERS, stream, post + http + literal) + _frame(
            _DATA, _END_STREAM, stream, envelope(self.message)
        )


def _string(value: bytes) -> bytes:
    assert len(value) < 127
    return bytes([len(value)]) + value


class Http2Load:
    """A number of streams, in turns on a few connections."""

    def __init__(self, port: int, call: GrpcCall) -> None:
        self._port = port
        self._call = call
        self._connections: list[_Connection] = []
        self._streams: list[_Stream] = []
        self._begun = 0.0

    async def open(self, streams: int, *, over: float) -> None:
        self._begun = time.monotonic()
        self._connections = await connected(self._port, min(_CONNECTIONS, streams), _Connection)
        begun = time.monotonic()
        for number in range(streams):
            if over:
                await asyncio.sleep(begun + over * number / streams - time.monotonic())
            connection = self._connections[number % len(self._connections)]
            self._streams.append(connection.open(self._call, self._port, _Stream()))

    @property
    def tokens(self) -> int:
        return sum(stream.tokens for stream in self._streams)

    @property
    def received(self) -> int:
        return sum(connection.received for connection in self._connections)

    @property
    def waits(self) -> list[float]:
        return [stream.first - self._begun for stream in self._streams if stream.first]

    @property
    def waiting(self) -> int:
        return sum(stream.tokens == 0 for stream in self._streams)

    async def begun(self) -> None:
        for stream in self._streams:
            await stream.begun.wait()

    async def closed(self) -> None:
        for stream in self._streams:
            await stream.closed.wait()

    def leave(self) -> None:
        for connection in self._connections:
            connection.leave()

    def pieces(self) -> list[list[str]] | str:
        for stream in self._streams:
            if _SUCCESS not in stream.trailers:
                return f"a stream without a good end: {stream.trailers[:300]!r}"
        return [pieces_of_protobuf(b"".join(stream.reads)) for stream in self._streams]


class _Stream:
    def __init__(self) -> None:
        self.tokens = 0
        self.first = 0.0
        """When its first token came, by the monotonic clock."""
        self.reads: list[bytes] = []
        self.trailers = b""
        """Or why there are none."""
        self.begun = asyncio.Event()
        self.closed = asyncio.Event()

    def data(self, payload: bytes) -> None:
        self.reads.append(payload)
        self.tokens += payload.count(MARK)
        if self.tokens and not self.first:
            self.first = time.monotonic()
            self.begun.set()

    def end(self, trailers: bytes) -> None:
        if not self.closed.is_set():
            self.trailers = trailers
            self.begun.set()
            self.closed.set()


class _LoopStream(_Stream):
    """One question of a closed loop. The trailers are the last of its reads."""

    def __init__(self, asker: "_Asker") -> None:
        super().__init__()
        self._asker = asker
        self._asked = Asked(reads=self.reads)

    @override
    def data(self, payload: bytes) -> None:
        self.reads.append(payload)
        self._asker.loop.tokens += payload.count(MARK)

    @override
    def end(self, trailers: bytes) -> None:
        if not self.closed.is_set():
            self.closed.set()
            self.reads.append(trailers)
            self._asker.loop.answered(self._asked, self._asker.ask, self._asker.idle)


class _Asker:
    """One of the callers of a closed loop."""

    def __init__(self, loop: ClosedLoop, connection: "_Connection", call: GrpcCall, port: int) -> None:
        self.loop = loop
        self._connection = connection
        self._call = call
        self._port = port
        self.idle = asyncio.Event()
        self.ask()

    def ask(self) -> None:
        if self._connection.lost:
            self.loop.break_off("a connection was lost")
            self.idle.set()
        else:
            self._connection.open(self._call, self._port, _LoopStream(self))

    def leave(self) -> None:
        self.idle.set()
        self._connection.leave()


def _whole(reads: list[bytes]) -> tuple[int, bytes]:
    """Status as HTTP has it (0: no good end) and messages of a stream in a closed loop."""
    *messages, trailers = reads
    return (200, b"".join(messages)) if _SUCCESS in trailers else (0, trailers)


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.received = 0
        self.lost = False
        self._transport: asyncio.Transport
        self._streams: dict[int, _Stream] = {}
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(_HELLO)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        for stream in self._streams.values():
            stream.end(f"the connection was lost: {exc}".encode())

    def open(self, call: GrpcCall, port: int, stream: _Stream) -> _Stream:
        number = 2 * len(self._streams) + 1
        self._streams[number] = stream
        self._transport.write(call.request(port, number))
        return stream

    def leave(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        if self._rest:
            data = self._rest + data
        begin = 0
        while len(data) - begin >= 9:
            payload = begin + 9
            end = payload + int.from_bytes(data[begin : begin + 3])
            if len(data) < end:
                break
            self._frame(data[begin + 3], data[begin + 4], int.from_bytes(data[begin + 5 : payload]), data[payload:end])
            begin = end
        self._rest = data[begin:]

    def _frame(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if kind == _DATA:
            self._streams[number].data(payload)
        elif kind == _HEADERS and flags & _END_STREAM:
            self._streams[number].end(payload)
        elif kind == _RST_STREAM:
            self._streams[number].end(b"it was reset: " + payload)
        elif kind in (_SETTINGS, _PING) and not flags & _ACK:
            self._transport.write(_frame(kind, _ACK, 0, payload if kind == _PING else b""))
        elif kind == _GOAWAY and any(payload[4:8]):  # without an error, what is open is played to its end (§6.8)
            self._transport.close()
