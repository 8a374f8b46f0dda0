"""A caller that leaves, at whatever moment and however, closes the provider's connection within a second: each of fifty
times."""

import asyncio
import errno
import os
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.matrix.notation import Call
from tests.matrix.server import Server
from tests.matrix.stage import Matrix, http_caller
from tests.matrix.transports import OVER_HTTP, STREAMS_OVER_HTTP
from tests.upstream import Exchange, Gate, done, finish, head, repeat, role, silence, text

pytestmark = pytest.mark.anyio

ROUNDS = 50
_RESET = struct.pack("ii", 1, 0)

over_http = pytest.mark.parametrize("transport", OVER_HTTP)
either_way = pytest.mark.parametrize("way", ["close", "reset"])


@dataclass(slots=True)
class Visitor:
    """A caller on a bare socket, who can leave as real ones do."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def calling(cls, transport: str, server: Server, call: Call) -> "Visitor":
        """Has sent its request whole."""
        visitor = cls(*await asyncio.open_connection("127.0.0.1", server.port))
        visitor.call(transport, server, call)
        await visitor.writer.drain()
        return visitor

    def call(self, transport: str, server: Server, call: Call) -> None:
        request = http_caller(transport, server).request(call)
        lines = [f"{request.method} {request.url.raw_path.decode()} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in request.headers.items()]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + request.content)

    async def is_reset(self) -> None:
        """Return when the server has cut the connection, without reading what it has sent."""
        raw: socket.socket = self.writer.get_extra_info("socket")
        async with asyncio.timeout(5):
            while raw.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != errno.ECONNRESET:  # noqa: ASYNC110 - the kernel sets no event
                await asyncio.sleep(0.01)

    async def has_read(self, marker: bytes) -> None:
        async with asyncio.timeout(5):
            await self.reader.readuntil(marker)

    def leave(self, way: str) -> None:
        if way == "reset":
            raw: socket.socket = self.writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.writer.transport.abort()  # closes the socket; what the linger says decides whether FIN or RST goes out


async def leaves(
    matrix: Matrix, server: Server, transport: str, way: str, seen: Callable[[Visitor], Awaitable[None]]
) -> None:
    """Fifty callers; each leaves when it has seen what it waits for, and the provider's connection must be closed a
    second later at most."""
    server.log.new()
    visitors = [await Visitor.calling(transport, server, Call("say")) for _ in range(ROUNDS)]
    exchanges: list[Exchange] = [await matrix.provider.requested() for _ in visitors]
    for visitor in visitors:
        await seen(visitor)
    for visitor in visitors:
        visitor.leave(way)
    for exchange in exchanges:
        await exchange.client_left(within=1.0)
    await all_canceled(server, ROUNDS)


async def all_canceled(server: Server, count: int) -> None:
    """The log has one line for each run, and says that its caller left."""
    assert await logged(server, count) == ["canceled"] * count


async def logged(server: Server, count: int) -> list[str]:
    """The outcomes of the runs whose lines come into the log within a second: so many, or more."""
    lines = server.runs_logged()
    async with asyncio.timeout(1):
        while len(lines) < count:
            await asyncio.sleep(0.01)
            lines += server.runs_logged()
    return [line["outcome"] for line in lines]


async def nothing(visitor: Visitor) -> None:
    pass


async def a_piece(visitor: Visitor) -> None:
    await visitor.has_read(b"Hel")


async def a_heartbeat(visitor: Visitor) -> None:
    await visitor.has_read(b"\r\n\r\n")
    await visitor.has_read(b"\n\r\n")


@over_http
@either_way
async def test_leaving_before_the_provider_answers(matrix: Matrix, transport: str, way: str) -> None:
    matrix.provider.always(silence())
    await leaves(matrix, matrix.server, transport, way, nothing)


@over_http
@either_way
async def test_leaving_while_the_first_token_is_awaited(matrix: Matrix, transport: str, way: str) -> None:
    matrix.provider.always(head(), role(), silence())
    await leaves(matrix, matrix.server, transport, way, nothing)


@pytest.mark.parametrize("transport", ["json", "invoke", "chat"])
@either_way
async def test_leaving_while_the_answer_of_a_plain_call_grows(matrix: Matrix, transport: str, way: str) -> None:
    matrix.provider.always(head(), text("Hel"), silence())
    await leaves(matrix, matrix.server, transport, way, nothing)


@pytest.mark.parametrize("transport", STREAMS_OVER_HTTP)
@either_way
async def test_leaving_in_the_middle_of_a_stream(matrix: Matrix, transport: str, way: str) -> None:
    matrix.provider.always(head(), text("Hel"), silence())
    await leaves(matrix, matrix.server, transport, way, a_piece)


@pytest.mark.parametrize("transport", ["sse", "ndjson", "chat_stream"])
@either_way
async def test_leaving_when_the_headers_are_out_and_there_is_no_content(
    matrix: Matrix, hurried_server: Server, transport: str, way: str
) -> None:
    matrix.provider.always(head(), role(), silence())
    await leaves(matrix, hurried_server, transport, way, a_heartbeat)


@over_http
@either_way
async def test_leaving_while_the_provider_is_being_connected(matrix: Matrix, transport: str, way: str) -> None:
    visitors = [await Visitor.calling(transport, matrix.server, Call("unconnected")) for _ in range(ROUNDS)]
    assert matrix.server.runs_logged() == []  # a reply to another call: the server has read these before it
    for visitor in visitors:
        visitor.leave(way)
    await all_canceled(matrix.server, ROUNDS)


@over_http
@either_way
@pytest.mark.parametrize(("function", "rounds"), [("blocking", ROUNDS), ("waiting", 5)])
async def test_leaving_while_the_function_renders(
    matrix: Matrix, transport: str, way: str, function: str, rounds: int, tmp_path: Path
) -> None:
    pipes = [tmp_path / f"pipe-{number}" for number in range(rounds)]
    for pipe in pipes:
        os.mkfifo(pipe)
    calls = [Call(function, input=f'{{"file":"{pipe}"}}') for pipe in pipes]
    visitors = [await Visitor.calling(transport, matrix.server, call) for call in calls]
    # A named pipe can be opened for writing when the function has it open for reading.
    opened = [await asyncio.to_thread(os.open, pipe, os.O_WRONLY) for pipe in pipes]
    try:
        for visitor in visitors:
            visitor.leave(way)
        await all_canceled(matrix.server, rounds)
    finally:
        for pipe in opened:
            os.close(pipe)
    assert matrix.provider.exchanges == []


@over_http
async def test_leaving_before_the_request_is_complete(matrix: Matrix, transport: str) -> None:
    path = http_caller(transport, matrix.server).request(Call("say")).url.path
    _, writer = await asyncio.open_connection("127.0.0.1", matrix.server.port)
    writer.write(f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{{".encode())
    await writer.drain()
    assert matrix.server.runs_logged() == []
    writer.close()
    await all_canceled(matrix.server, 1)


@pytest.mark.parametrize("transport", STREAMS_OVER_HTTP)
async def test_a_caller_that_reads_nothing_slows_the_provider(matrix: Matrix, transport: str) -> None:
    matrix.provider.always(head(), repeat(text("x" * 60_000)))
    visitor = await Visitor.calling(transport, matrix.server, Call("say"))
    exchange = await matrix.provider.requested()
    await stands_still(exchange)
    visitor.leave("close")
    await exchange.client_left()
    await all_canceled(matrix.server, 1)


@pytest.mark.parametrize("transport", STREAMS_OVER_HTTP)
async def test_a_caller_that_reads_nothing_is_cut_when_the_runs_time_is_over(matrix: Matrix, transport: str) -> None:
    matrix.provider.always(head(), repeat(text("x" * 60_000)))
    visitor = await Visitor.calling(transport, matrix.server, Call("brief"))
    await (await matrix.provider.requested()).client_left(within=3)
    assert await logged(matrix.server, 1) == ["total_timeout"]
    await visitor.is_reset()
    visitor.leave("close")


@pytest.mark.parametrize("transport", STREAMS_OVER_HTTP)
async def test_a_caller_that_does_not_read_the_end_of_an_answer_is_cut_too(matrix: Matrix, transport: str) -> None:
    """The last piece fills every buffer: what cannot be written any more is the end."""
    end = Gate()
    matrix.provider.always(head(), text("x" * 8_000_000), end.wait(), finish("stop"), done())
    visitor = await Visitor.calling(transport, matrix.server, Call("brief"))
    end.open()
    await visitor.is_reset()
    visitor.leave("close")


@over_http
async def test_leaving_when_a_second_call_waits_on_the_same_connection(matrix: Matrix, transport: str) -> None:
    matrix.provider.always(silence())
    visitor = await Visitor.calling(transport, matrix.server, Call("say"))
    exchange = await matrix.provider.requested()
    visitor.call(transport, matrix.server, Call("say"))
    assert matrix.server.runs_logged() == []  # a reply to another call: the server has read this one before it
    visitor.leave("close")
    await exchange.client_left()
    await all_canceled(matrix.server, 1)


async def stands_still(exchange: Exchange) -> None:
    """The provider cannot send any more: every buffer on the way is full."""
    async with asyncio.timeout(10):
        before = -1
        while before != exchange.sent:
            before = exchange.sent
            await asyncio.sleep(0.3)
    assert exchange.sent < 64_000_000
