"""Whatever way a reply is framed and however its bytes are cut, its body is read exactly, and its end told truly."""

import asyncio
import gc
from dataclasses import dataclass

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from deltawire.providers.http1.connection import Connection
from deltawire.providers.http1.errors import CutError, InvalidReplyError, NoReplyError
from tests.providers.http1 import CHUNKED, LAST_CHUNK, LOOPS, Wired, chunk, cuts, turns, whole, wired

pytestmark = pytest.mark.anyio


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return request.param


@dataclass
class Framed:
    """A reply in pieces, of which those that are true are of the body."""

    pieces: list[tuple[bytes, bool]]
    until_close: bool = False

    @property
    def data(self) -> bytes:
        return b"".join(piece for piece, _ in self.pieces)

    def body(self, end: int) -> bytes:
        """As much of the body as is in so many bytes."""
        said = bytearray()
        for piece, is_body in self.pieces:
            if is_body:
                said += piece[: max(0, end)]
            end -= len(piece)
        return bytes(said)


HEADS = [
    b"HTTP/1.1 200 OK\r\nX-A: 1\r\n",
    b"HTTP/1.1 200\r\nx-a:1\r\nX-A: \t2 \r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 Fine\r\n",
    b"HTTP/1.1 200 OK\nset-cookie: a=b\n",
]
PARTS = st.lists(st.binary(min_size=1, max_size=300) | st.sampled_from([b"\r\n", b"0\r\n\r\n", b"5\r\nab", b"\r\n0"]))


@st.composite
def chunked(draw: st.DrawFn) -> Framed:
    pieces = [(draw(st.sampled_from(HEADS)), False), (b"Transfer-Encoding: Chunked\r\n\r\n", False)]
    for part in draw(PARTS):
        size = draw(st.sampled_from([b"%x", b"%X", b"00%x", b"%x;name=value", b'%x;a="b"', b"%x  "])) % len(part)
        pieces += [(size + b"\r\n", False), (part, True), (b"\r\n", False)]
    pieces.append((draw(st.sampled_from([b"0\r\n", b"000\r\n", b"0;last\r\n"])), False))
    pieces.append((draw(st.sampled_from([b"", b"digest: x\r\n", b"a: b\r\nc: d\r\n"])) + b"\r\n", False))
    return Framed(pieces)


@st.composite
def sized(draw: st.DrawFn) -> Framed:
    body = b"".join(draw(PARTS))
    head = draw(st.sampled_from(HEADS)) + b"Content-Length: %d\r\n\r\n" % len(body)
    return Framed([(head, False), (body, True)])


@st.composite
def until_close(draw: st.DrawFn) -> Framed:
    head = draw(st.sampled_from([b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"]))
    return Framed([(head, False), (b"".join(draw(PARTS)), True)], until_close=True)


FRAMED = chunked() | sized() | until_close()
CUTS = st.lists(st.integers(0, 2**16), max_size=12)


async def assert_whole(framed: Framed, at: list[int]) -> None:
    async with wired() as on:
        asking = asyncio.ensure_future(on.connection.send(b"POST / HTTP/1.1\r\n\r\n"))
        await turns()
        await on.serve(*cuts(framed.data, at))
        if framed.until_close:
            on.end()
        await asking
        assert on.connection.status == 200
        assert await whole(on.connection) == framed.body(len(framed.data))
        on.connection.let_go()
        assert (on.pool.kept() is on.connection) is not framed.until_close


async def assert_cut(framed: Framed, at: list[int], end: int) -> None:
    """The connection ends after so many bytes: what came of the body is read, then the failure is told."""
    async with wired() as on:
        asking = asyncio.ensure_future(on.connection.send(b"POST / HTTP/1.1\r\n\r\n"))
        await turns()
        await on.serve(*cuts(framed.data[:end], at))
        on.end()
        received, failure = bytearray(), None
        try:
            await asking
            while part := await on.connection.read():
                received += part
        except (CutError, NoReplyError) as error:
            failure = error
        assert failure is not None
        assert bytes(received) == framed.body(end)
        if isinstance(failure, NoReplyError):
            assert failure.silent is (end == 0)
        on.connection.leave()
        assert on.pool.kept() is None


@settings(deadline=None)
@given(FRAMED, CUTS)
def test_every_framing_in_every_cut_is_read_exactly(framed: Framed, at: list[int]) -> None:
    asyncio.run(assert_whole(framed, at))


@settings(deadline=None)
@given(FRAMED, CUTS)
def test_every_framing_in_every_cut_is_read_exactly_on_uvloop(framed: Framed, at: list[int]) -> None:
    uvloop.run(assert_whole(framed, at))


@settings(deadline=None)
@given(chunked() | sized(), CUTS, st.data())
def test_an_end_before_the_end_is_told_after_what_came(framed: Framed, at: list[int], data: st.DataObject) -> None:
    end = data.draw(st.integers(0, max(0, len(framed.data) - 1)))
    asyncio.run(assert_cut(framed, at, end))


async def test_each_part_is_read_as_it_arrives() -> None:
    async with wired() as on:
        reply = await on.reply(CHUNKED)
        for part in (b"one", b"two\r\n", b"0"):
            reading = asyncio.ensure_future(reply.read())
            await on.serve(chunk(part))
            assert await reading == part
        await on.serve(chunk(b"a") + chunk(b"b"), chunk(b"c"))
        assert await reply.read() == b"abc", "what nobody has read yet comes together"
        await on.serve(LAST_CHUNK)
        assert [await reply.read(), await reply.read()] == [b"", b""]


async def test_what_is_there_is_read_without_a_turn_of_the_loop() -> None:
    async with wired() as on:
        reply = await on.reply(CHUNKED, chunk(b"a"))
        assert reply.read().result() == b"a"


async def test_a_reader_that_was_cancelled_loses_nothing() -> None:
    async with wired() as on:
        reply = await on.reply(CHUNKED)
        reading = asyncio.ensure_future(reply.read())
        await turns()
        reading.cancel()
        await asyncio.wait([reading])
        assert reading.cancelled()
        await on.serve(chunk(b"a") + chunk(b"b"))
        assert await reply.read() == b"ab"


async def test_of_a_body_that_fails_nobody_hears_whose_reader_has_left(caplog: pytest.LogCaptureFixture) -> None:
    async with wired() as on:
        reply = await on.reply(CHUNKED)
        reading = asyncio.ensure_future(_taken(reply))
        await turns()
        reply.data_received(b"zz\r\n")
        reading.cancel()
        await asyncio.wait([reading])
        assert reading.cancelled()
        del reading
        gc.collect()
    assert caplog.records == []


async def _taken(reply: Connection) -> bytes:
    return await reply.read()


NONSENSE = [
    b"zz\r\nabc\r\n",
    b"-5\r\nabc\r\n",
    b"\r\n",
    b"3\r\nabcdef\r\n",
    b"1_0\r\n",
    b"0x5\r\n",
    b"ffffffffffffffffff\r\n",
]


@pytest.mark.parametrize("nonsense", NONSENSE)
@pytest.mark.parametrize("together", [True, False])
async def test_a_malformed_chunk_is_a_cut_after_what_came(nonsense: bytes, together: bool) -> None:
    async with wired() as on:
        pieces = (chunk(b"good") + nonsense,) if together else (chunk(b"good"), nonsense)
        reply = await on.reply(CHUNKED, *pieces)
        assert (await reply.read()).startswith(b"good")
        with pytest.raises(CutError):
            await whole(reply)
        with pytest.raises(CutError):
            await reply.read()
        assert await closed(on)


ENDLESS = {
    "trailer": (b"0\r\nx: ", b"y" * 8192),
    "trailers": (b"0\r\n", b"x: y\r\n" * 1000),
    "extension": (b"5;", b"y" * 8192),
    "size": (b"0", b"0" * 8192),
}


@pytest.mark.parametrize("kind", ENDLESS)
async def test_what_comes_without_end_and_is_no_body_is_a_cut(kind: str) -> None:
    async with wired() as on:
        begun, more = ENDLESS[kind]
        reply = await on.reply(CHUNKED, chunk(b"a") + begun)
        assert await reply.read() == b"a"
        reading = asyncio.ensure_future(reply.read())
        for _ in range(16):
            if not reading.done():
                await on.serve(more)
        assert reading.done()
        with pytest.raises(CutError):
            await reading


HEADS_WITHOUT_END = {
    "field": (b"HTTP/1.1 200 OK\r\nx: ", b"y" * 8192),
    "fields": (b"HTTP/1.1 200 OK\r\n", b"x: y\r\n" * 1000),
    "interim": (b"", b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n" * 200),
    "reason": (b"HTTP/1.1 200 ", b"O" * 8192),
}


@pytest.mark.parametrize("kind", HEADS_WITHOUT_END)
async def test_a_head_of_more_than_64_kibibytes_is_invalid(kind: str) -> None:
    async with wired() as on:
        asking = asyncio.ensure_future(on.connection.send(b"POST / HTTP/1.1\r\n\r\n"))
        await turns()
        begun, more = HEADS_WITHOUT_END[kind]
        sent = len(begun)
        await on.serve(begun)
        while not asking.done() and sent < 2 * 65536:
            await on.serve(more)
            sent += len(more)
        assert asking.done()
        assert sent < 65536 + 2 * len(more)
        with pytest.raises(InvalidReplyError):
            await asking


async def test_a_large_head_and_a_large_body_may_come_in_one_read() -> None:
    body = b"b" * 150_000
    head = b"HTTP/1.1 200 OK\r\nx: " + b"y" * 60_000 + b"\r\ncontent-length: %d\r\n\r\n" % len(body)
    async with wired() as on:
        reply = await on.reply(head + body)
        assert await whole(reply) == body
        assert len(reply.headers["x"]) == 60_000


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
    ],
)
async def test_a_head_of_two_meanings_or_none_is_invalid(head: bytes) -> None:
    async with wired() as on:
        with pytest.raises(InvalidReplyError):
            await on.reply(head)
        assert await closed(on)


async def test_names_of_headers_have_no_case_and_repeated_ones_are_one() -> None:
    async with wired() as on:
        reply = await on.reply(b"HTTP/1.1 429 Slow\r\nRETRY-AFTER: 1\r\nVia: a\r\nvia: b\r\ncontent-length: 0\r\n\r\n")
        assert (reply.status, reply.content_type) == (429, "application/octet-stream")
        assert reply.headers == {"retry-after": "1", "via": "a, b", "content-length": "0"}


@pytest.mark.parametrize("status", [204, 304])
async def test_a_status_without_a_body_has_none(status: int) -> None:
    async with wired() as on:
        reply = await on.reply(b"HTTP/1.1 %d X\r\n\r\n" % status)
        assert await reply.read() == b""


async def test_a_trailer_is_no_header() -> None:
    async with wired() as on:
        reply = await on.reply(CHUNKED + LAST_CHUNK[:-2] + b"content-type: evil\r\n\r\n")
        assert await reply.read() == b""
        assert reply.content_type == "text/event-stream"


async def test_a_reset_is_no_end_of_a_body_until_close() -> None:
    async with wired() as on:
        reply = await on.reply(b"HTTP/1.1 200 OK\r\n\r\n", b"half")
        assert await reply.read() == b"half"
        on.reset()
        with pytest.raises(CutError):
            await reply.read()


async def test_a_reader_that_does_not_read_stops_its_server_and_one_that_goes_on_gets_it_all() -> None:
    async with wired() as on:
        reply, loop = await on.reply(CHUNKED), asyncio.get_running_loop()
        words = [bytes([number % 251]) * 50_000 for number in range(400)]
        serving = asyncio.ensure_future(loop.sock_sendall(on.server, b"".join(map(chunk, words)) + LAST_CHUNK))
        done, _ = await asyncio.wait([serving], timeout=0.3)
        assert not done, "20 MB went nowhere"
        assert await whole(reply) == b"".join(words)
        await serving
        reply.let_go()
        assert on.pool.kept() is reply


async def test_a_connection_that_is_paused_closes_when_we_do() -> None:
    async with wired() as on:
        reply, loop = await on.reply(CHUNKED), asyncio.get_running_loop()
        serving = asyncio.ensure_future(loop.sock_sendall(on.server, chunk(b"x" * 30_000_000)))
        await asyncio.wait([serving], timeout=0.2)
        reply.leave()
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(serving, 2)


async def closed(on: Wired) -> bool:
    """Whether our end is closed, within a second."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(1):
        try:
            while await loop.sock_recv(on.server, 65536):
                pass
        except ConnectionError:
            pass
    return True
