"""A caller that leaves, at whatever moment and however, closes the provider's connection within a second: each of fifty
times."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.contract.visitors import HttpVisitor, Visitor, visit, ways
from tests.matrix.notation import Call
from tests.matrix.server import Server
from tests.matrix.stage import Matrix, http_caller
from tests.matrix.transports import GRPC, OVER_HTTP, RPC_STREAMS, STREAMS_OVER_HTTP, WHOLE
from tests.upstream import Exchange, Gate, done, finish, head, repeat, role, silence, text

pytestmark = pytest.mark.anyio

ROUNDS = 50


def leaving(transports: list[str]) -> pytest.MarkDecorator:
    """Over each of these transports, in each way that a caller has there."""
    pairs = [(transport, way) for transport in transports for way in ways(transport)]
    return pytest.mark.parametrize(("transport", "way"), pairs)


Calling = Callable[[str, Server, Call], Awaitable[Visitor]]


@pytest.fixture
async def calling() -> AsyncGenerator[Calling]:
    """Makes a caller who has sent its request whole. All that it has made are gone when the test is over."""
    visitors: list[Visitor] = []

    async def call(transport: str, server: Server, call: Call) -> Visitor:
        visitors.append(await visit(transport, server, call))
        return visitors[-1]

    yield call
    for visitor in visitors:
        visitor.close()
    await asyncio.sleep(0)  # for the loop to close their sockets


over_http = pytest.mark.parametrize("transport", OVER_HTTP)


async def leaves(
    matrix: Matrix,
    calling: Calling,
    server: Server,
    transport: str,
    way: str,
    seen: Callable[[Visitor], Awaitable[None]],
) -> None:
    """Fifty callers; each leaves when it has seen what it waits for, and the provider's connection must be closed a
    second later at most."""
    server.log.new()
    visitors = [await calling(transport, server, Call("say")) for _ in range(ROUNDS)]
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
    assert [line["outcome"] for line in await server.logged(count)] == ["canceled"] * count


async def nothing(visitor: Visitor) -> None:
    pass


async def a_piece(visitor: Visitor) -> None:
    await visitor.has_read(b"Hel")


async def a_beginning(visitor: Visitor) -> None:
    await visitor.has_begun()


@leaving([*OVER_HTTP, *GRPC])
async def test_leaving_before_the_provider_answers(matrix: Matrix, calling: Calling, transport: str, way: str) -> None:
    matrix.provider.always(silence())
    await leaves(matrix, calling, matrix.server, transport, way, nothing)


@leaving([*OVER_HTTP, *GRPC])
async def test_leaving_while_the_first_token_is_awaited(
    matrix: Matrix, calling: Calling, transport: str, way: str
) -> None:
    matrix.provider.always(head(), role(), silence())
    await leaves(matrix, calling, matrix.server, transport, way, nothing)


@leaving(WHOLE)
async def test_leaving_while_the_answer_of_a_plain_call_grows(
    matrix: Matrix, calling: Calling, transport: str, way: str
) -> None:
    matrix.provider.always(head(), text("Hel"), silence())
    await leaves(matrix, calling, matrix.server, transport, way, nothing)


@leaving([*STREAMS_OVER_HTTP, "grpc"])
async def test_leaving_in_the_middle_of_a_stream(matrix: Matrix, calling: Calling, transport: str, way: str) -> None:
    matrix.provider.always(head(), text("Hel"), silence())
    await leaves(matrix, calling, matrix.server, transport, way, a_piece)


@leaving(["sse", "ndjson", "chat_stream", *RPC_STREAMS])
async def test_leaving_when_the_headers_are_out_and_there_is_no_content(
    matrix: Matrix, calling: Calling, hurried_server: Server, transport: str, way: str
) -> None:
    matrix.provider.always(head(), role(), silence())
    await leaves(matrix, calling, hurried_server, transport, way, a_beginning)


@leaving([*OVER_HTTP, *GRPC])
async def test_leaving_while_the_provider_is_being_connected(
    matrix: Matrix, calling: Calling, transport: str, way: str
) -> None:
    visitors = [await calling(transport, matrix.server, Call("unconnected")) for _ in range(ROUNDS)]
    for visitor in visitors:
        await visitor.has_arrived()
    assert matrix.server.runs_logged() == []  # a reply to another call: the server has read these before it
    for visitor in visitors:
        visitor.leave(way)
    await all_canceled(matrix.server, ROUNDS)


@leaving([*OVER_HTTP, *GRPC])
@pytest.mark.parametrize(("function", "rounds"), [("blocking", ROUNDS), ("waiting", 5)])
async def test_leaving_while_the_function_renders(
    matrix: Matrix, calling: Calling, transport: str, way: str, function: str, rounds: int, tmp_path: Path
) -> None:
    pipes = [tmp_path / f"pipe-{number}" for number in range(rounds)]
    for pipe in pipes:
        os.mkfifo(pipe)
    calls = [Call(function, input=f'{{"file":"{pipe}"}}') for pipe in pipes]
    visitors = [await calling(transport, matrix.server, call) for call in calls]
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
    request = http_caller(transport, matrix.server).request(Call("say"))
    _, writer = await asyncio.open_connection("127.0.0.1", matrix.server.port)
    head = f"POST {request.url.path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {request.headers['content-type']}\r\n"
    writer.write(f"{head}content-length: 100\r\n\r\n{{".encode())
    await writer.drain()
    assert matrix.server.runs_logged() == []
    writer.close()
    await all_canceled(matrix.server, 1)


@pytest.mark.parametrize("transport", [*STREAMS_OVER_HTTP, "grpc"])
async def test_a_caller_that_reads_nothing_slows_the_provider(matrix: Matrix, calling: Calling, transport: str) -> None:
    matrix.provider.always(head(), repeat(text("x" * 60_000)))
    visitor = await calling(transport, matrix.server, Call("say"))
    exchange = await matrix.provider.requested()
    await exchange.stands_still()
    assert exchange.sent < 64_000_000
    visitor.leave(ways(transport)[0])
    await exchange.client_left()
    await all_canceled(matrix.server, 1)


@pytest.mark.parametrize("transport", [*STREAMS_OVER_HTTP, "grpc"])
async def test_a_caller_that_reads_nothing_is_cut_when_the_runs_time_is_over(
    matrix: Matrix, calling: Calling, transport: str
) -> None:
    matrix.provider.always(head(), repeat(text("x" * 60_000)))
    visitor = await calling(transport, matrix.server, Call("brief"))
    await (await matrix.provider.requested()).client_left(within=3)
    assert [line["outcome"] for line in await matrix.server.logged(1)] == ["total_timeout"]
    await visitor.is_cut()


@pytest.mark.parametrize("transport", STREAMS_OVER_HTTP)
async def test_a_caller_that_does_not_read_the_end_of_an_answer_is_cut_too(
    matrix: Matrix, calling: Calling, transport: str
) -> None:
    """The last piece fills every buffer: what cannot be written any more is the end."""
    end = Gate()
    matrix.provider.always(head(), text("x" * 8_000_000), end.wait(), finish("stop"), done())
    visitor = await calling(transport, matrix.server, Call("brief"))
    end.open()
    await visitor.is_cut()


@over_http
async def test_leaving_when_a_second_call_waits_on_the_same_connection(
    matrix: Matrix, calling: Calling, transport: str
) -> None:
    matrix.provider.always(silence())
    visitor = await calling(transport, matrix.server, Call("say"))
    assert isinstance(visitor, HttpVisitor)
    exchange = await matrix.provider.requested()
    visitor.call(transport, matrix.server, Call("say"))
    assert matrix.server.runs_logged() == []  # a reply to another call: the server has read this one before it
    visitor.leave("close")
    await exchange.client_left()
    await all_canceled(matrix.server, 1)
