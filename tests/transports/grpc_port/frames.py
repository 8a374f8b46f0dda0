"""A caller in single frames of HTTP/2 (RFC 9113), for what no client library sends."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
ACK = END_STREAM = 1
_END_HEADERS = 4
_POST, _HTTP = b"\x83", b"\x86"
_NO_HEADER_TABLE = b"\0\x01\0\0\0\0"
"""So that headers come literally (RFC 7541, §6.2.2)."""


def frame(kind: int, payload: bytes = b"", *, flags: int = 0, stream: int = 0) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def begun(path: bytes, *metadata: tuple[bytes, bytes]) -> bytes:
    """The beginning of a call, on stream 1."""
    fields = [(b":path", path), (b":authority", b"x"), (b"te", b"trailers"), (b"content-type", b"application/grpc")]
    headers = b"".join(b"\0" + _string(name) + _string(value) for name, value in (*fields, *metadata))
    return frame(HEADERS, _POST + _HTTP + headers, flags=_END_HEADERS, stream=1)


def call(path: bytes, message: bytes, *metadata: tuple[bytes, bytes]) -> bytes:
    """A whole call, on stream 1."""
    body = b"\0" + len(message).to_bytes(4, "big") + message
    return begun(path, *metadata) + frame(DATA, body, flags=END_STREAM, stream=1)


def room(size: int) -> bytes:
    """For so many bytes more, on the connection and on stream 1."""
    more = size.to_bytes(4, "big")
    return frame(WINDOW_UPDATE, more) + frame(WINDOW_UPDATE, more, stream=1)


def _string(value: bytes) -> bytes:
    assert len(value) < 127
    return bytes([len(value)]) + value


@dataclass(slots=True)
class Frames:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    data: bytearray = field(default_factory=bytearray)
    """Of stream 1."""
    headers: bytes = b""
    """The last ones of stream 1: the trailers, when it has ended."""
    ping: bytes = b""
    """What the server has sent back last."""

    def send(self, *frames: bytes) -> None:
        self.writer.write(b"".join(frames))

    async def next(self) -> int:
        """Read a frame, and answer what has to be answered at once; returns its kind."""
        head = await self.reader.readexactly(9)
        kind, flags = head[3], head[4]
        payload = await self.reader.readexactly(int.from_bytes(head[:3], "big"))
        if kind == DATA:
            self.data += payload
        elif kind == HEADERS:
            self.headers = payload
        elif kind == PING and flags & ACK:
            self.ping = payload
        elif kind in (SETTINGS, PING) and not flags & ACK:
            self.send(frame(kind, payload if kind == PING else b"", flags=ACK))
        return kind if not (kind in (DATA, HEADERS) and flags & END_STREAM) else -1

    async def pinged(self) -> None:
        """The server has read what was sent."""
        self.send(frame(PING, b"together"))
        async with asyncio.timeout(20):
            while await self.next() != PING or self.ping != b"together":
                pass

    async def ended(self) -> bytes:
        """The trailers of stream 1."""
        async with asyncio.timeout(10):
            while await self.next() != -1:
                pass
        return self.headers


@asynccontextmanager
async def frames(port: int) -> AsyncGenerator[Frames]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, _NO_HEADER_TABLE))
    try:
        yield Frames(reader, writer)
    finally:
        writer.transport.abort()
