"""Any bytes, in any cut, as a server's reply over HTTP/1.1: the same head, body and end, and no exception but its own.

Where h11, another implementation of RFC 9112, understands the whole of it, it has the same status, headers and body.
"""

import asyncio
import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

import h11

from deltawire.providers.http1.connection import Connection
from deltawire.providers.http1.content_coding import plain
from deltawire.providers.http1.errors import CutError, Http1Error, InvalidReplyError
from tests.fuzz.target import Target, cut, uncut, ways

_REQUEST = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n"


class Heard(NamedTuple):
    status: int
    headers: str
    body: bytes
    end: type[Http1Error] | None


def check(given: bytes) -> None:
    stream, streams = cut(given)
    with closing(asyncio.new_event_loop()) as loop:
        run = loop.run_until_complete
        heard = [run(_ask(parts, resting=resting)) for parts in streams for resting in (False, True)]
        assert len({reply for reply, _ in heard}) == 1, heard
        other, behind = _h11(stream)
        if other is not None:
            assert heard[0][0] == other or _is_stricter(heard[0][0], other), (other, heard[0])
            # Empty lines behind a reply are forgiven where they come with it, and end a connection that rests.
            assert (behind and not behind.strip(b"\r\n")) or len({kept for _, kept in heard}) == 1, heard
            assert not (behind.strip(b"\r\n") and any(kept for _, kept in heard)), heard
        for coding in ("gzip", "deflate"):
            _check_damaged(sorted((run(_inflate(coding, parts)) for parts in streams), key=_length))
        for coding, compressed in _compressed(stream, streams[1]):
            for parts in ways(compressed, given[1:8]):
                assert run(_inflate(coding, parts)) == (stream, False)


def _is_stricter(heard: Heard, other: Heard) -> bool:
    """Whether it is a failure, of what h11 forgives in a head, a chunk's extension or a trailer; and all before it is
    the same."""
    if heard.end is InvalidReplyError:
        return not heard.status
    return heard.end is CutError and heard[:2] == other[:2] and other.body.startswith(heard.body)


def _check_damaged(inflated: list[tuple[bytes, bool]]) -> None:
    """The same for every cut; but zlib keeps back what it had before the damage, where both came at once."""
    most, was_cut = inflated[-1]
    for said, too in inflated:
        assert too == was_cut
        assert most.startswith(said) if was_cut else said == most, (most, said)


def _length(inflated: tuple[bytes, bool]) -> int:
    return len(inflated[0])


def _compressed(body: bytes, parts: list[bytes]) -> Iterator[tuple[str, bytes]]:
    yield "gzip", b"".join(gzip.compress(part, 1) for part in parts)
    yield "deflate", zlib.compress(body, 1)
    yield "deflate", zlib.compress(body, 1)[2:-4]  # without zlib's envelope, as some servers send it


async def _ask(parts: Sequence[bytes], *, resting: bool) -> tuple[Heard, bool]:
    """The reply, and whether its connection can be used again."""
    transport = _Transport()
    connection = Connection(_Owner())
    connection.connection_made(transport)
    asking = asyncio.create_task(_read(connection))
    await asyncio.sleep(0)
    for part in parts:
        if transport.closed:
            break
        connection.data_received(part)
        if resting:
            await asyncio.sleep(0)
    for _ in range(3):  # what the reader does with the last part
        await asyncio.sleep(0)
    kept = connection.usable
    if not transport.closed:
        connection.eof_received()
    connection.connection_lost(None)
    return await asyncio.wait_for(asking, 1), kept


async def _read(connection: Connection) -> Heard:
    status, headers, body, end = 0, "", bytearray(), None
    try:
        await connection.send(_REQUEST)
        status, headers = connection.status, repr(_as_h11_writes(connection.headers))
        while part := await connection.read():
            body += part
        connection.let_go()
    except Http1Error as error:
        end = type(error)
    return Heard(status, headers, bytes(body), end)


def _as_h11_writes(headers: Mapping[str, str]) -> dict[str, str]:
    """It has the names of codings, of which the case does not count, in lower case (RFC 9112, §7)."""
    return {name: value.lower() if name == "transfer-encoding" else value for name, value in headers.items()}


async def _inflate(coding: str, parts: Sequence[bytes]) -> tuple[bytes, bool]:
    """What a body holds that is compressed, and whether it was cut."""
    rest = [*parts, b""]

    async def received() -> bytes:
        return rest.pop(0)

    read, inflated = plain(coding, received), bytearray()
    try:
        while part := await read():
            assert len(part) <= 256 * 1024
            inflated += part
    except CutError:
        return bytes(inflated), True
    return bytes(inflated), False


def _h11(stream: bytes) -> tuple[Heard | None, bytes]:
    """What it makes of a reply, or nothing where it does not take it; and the bytes behind it."""
    reader = h11.Connection(h11.CLIENT)
    reader.send(h11.Request(method="POST", target="/", headers=[("host", "a"), ("content-length", "0")]))
    reader.send(h11.EndOfMessage())
    status, headers, body = 0, dict[str, str](), bytearray()
    try:
        reader.receive_data(stream)
        reader.receive_data(b"")
        while True:
            event = reader.next_event()
            if isinstance(event, h11.Response):
                status = event.status_code
                for name, value in event.headers:
                    key, said = name.decode(), value.decode("latin-1").strip()
                    headers[key] = f"{headers[key]}, {said}" if key in headers else said
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                return Heard(status, repr(headers), bytes(body), None), reader.trailing_data[0]
            elif not isinstance(event, h11.InformationalResponse):
                return None, b""
    except h11.RemoteProtocolError:
        return None, b""


class _Owner:
    def opened(self, connection: Connection) -> None: ...

    def keep(self, connection: Connection) -> None: ...

    def lost(self, connection: Connection) -> None: ...


class _Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.closed = False

    def write(self, data: object) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        raise AssertionError("so little is never too much")


_OK = b"HTTP/1.1 200 OK\r\n"
_EARLY = b"HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n"
TARGET = Target(
    check,
    uncut(
        _OK + b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        _OK + b"content-length: 5\r\n\r\nhello",
        _OK + b"content-length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n",
        _OK + b"connection: close\r\n\r\nhello",
        _EARLY + _OK + b"Transfer-Encoding: Chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nx: y\r\n\r\n",
        _OK + b"transfer-encoding: chunked\r\n\r\n3;a=\x94\r\nabc\r\n0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.0 502 Bad Gateway\r\n\r\n<html>",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ),
    (
        *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 ", b"100 Continue", b"204", b"304", b"101", b"\r\n\r\n", b"\r\n", b"\n"),
        *(b"content-length: ", b"transfer-encoding: ", b"chunked", b"gzip, chunked", b"identity", b"0\r\n\r\n", b"\0"),
        *(b"connection: close", b"keep-alive", b"upgrade", b"5\r\nhello\r\n", b"ffffffffffffffff", b": ", b";", b","),
    ),
)
