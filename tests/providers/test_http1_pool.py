"""Connections that are kept: for a whole reply only, for a while, the last one first, and gone when they are closed."""

import asyncio

import pytest

from deltawire.providers.http1.connection import Connection
from deltawire.providers.http1.errors import NoReplyError, UnreachableError
from deltawire.providers.http1.origin import origin_of
from deltawire.providers.http1.pool import Pool
from tests.providers.http1 import CHUNKED, LAST_CHUNK, LOOPS, chunk, turns, whole, wired
from tests.upstream import Upstream, completion, head, never_accepting_port, silence

pytestmark = pytest.mark.anyio

REQUEST = b"POST /v1 HTTP/1.1\r\nhost: here\r\ncontent-length: 0\r\n\r\n"


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return request.param


async def answered(connection: Connection) -> None:
    await connection.send(REQUEST)
    await whole(connection)
    connection.let_go()


async def test_the_last_one_that_was_kept_is_used_first() -> None:
    async with Upstream() as upstream:
        upstream.always(completion("hi"))
        pool = Pool(origin_of(upstream.base_url), 4)
        first, second = await pool.fresh(), await pool.fresh()
        for connection in (first, second):
            await answered(connection)
        assert [pool.kept(), pool.kept(), pool.kept()] == [second, first, None]
        await pool.close()
        assert upstream.most_open == 2


async def test_an_idle_connection_is_closed_when_its_time_is_over() -> None:
    async with Upstream() as upstream:
        upstream.always(completion("hi"))
        pool = Pool(origin_of(upstream.base_url), 0.2)
        first, second = await pool.fresh(), await pool.fresh()
        await answered(first)
        await asyncio.sleep(0.1)
        await answered(second)
        await upstream.all_left(within=1)
        assert pool.kept() is None
        await pool.close()


@pytest.mark.parametrize("unasked", [b"HTTP/1.1 408 Request Timeout\r\n\r\n", b"\r\n", b"x"])
async def test_an_idle_connection_that_its_server_writes_to_is_dropped(unasked: bytes) -> None:
    async with wired() as on:
        reply = await on.reply(CHUNKED, LAST_CHUNK)
        reply.let_go()
        await on.serve(unasked)
        assert on.pool.kept() is None


async def test_an_idle_connection_that_its_server_closed_is_dropped() -> None:
    async with wired() as on:
        reply = await on.reply(CHUNKED, LAST_CHUNK)
        reply.let_go()
        on.end()
        await turns()
        assert on.pool.kept() is None


SECOND = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil"


@pytest.mark.parametrize("unasked", [SECOND, b"garbage", b"\x00"])
@pytest.mark.parametrize("when", ["together", "before it is let go", "while it is drained"])
async def test_bytes_behind_a_reply_are_no_part_of_it_and_cost_the_connection(unasked: bytes, when: str) -> None:
    async with wired() as on:
        if when == "while it is drained":
            reply = await on.reply(CHUNKED, chunk(b"good"))
            assert await reply.read() == b"good"
            reply.let_go()
            await on.serve(LAST_CHUNK + unasked)
        else:
            reply = await on.reply(CHUNKED, chunk(b"good"))
            await on.serve(*([LAST_CHUNK + unasked] if when == "together" else [LAST_CHUNK, unasked]))
            assert await whole(reply) == b"good"
            reply.let_go()
        assert on.pool.kept() is None


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
    ],
)
async def test_a_server_that_does_not_keep_connections_is_believed(head: bytes) -> None:
    async with wired() as on:
        reply = await on.reply(head)
        assert await whole(reply) == b"ok"
        reply.let_go()
        assert on.pool.kept() is None


async def test_the_rest_of_a_reply_is_read_aside_and_the_connection_kept() -> None:
    async with wired() as on:
        reply = await on.reply(CHUNKED, chunk(b"enough"))
        reply.let_go()
        assert on.pool.kept() is None
        for _ in range(40):
            await on.serve(chunk(b"x" * 10_000))
        await on.serve(LAST_CHUNK)
        assert on.pool.kept() is reply
        again = await on.reply(CHUNKED, chunk(b"new"), LAST_CHUNK)
        assert await whole(again) == b"new"
        assert again.reused


async def test_a_rest_without_end_is_read_for_a_second_only() -> None:
    async with Upstream() as upstream:
        upstream.always(head(), silence())
        pool = Pool(origin_of(upstream.base_url), 4)
        connection = await pool.fresh()
        await connection.send(REQUEST)
        before = asyncio.get_running_loop().time()
        connection.let_go()
        left = await (await upstream.requested()).client_left(within=3)
        assert 0.9 < left - before < 2
        await pool.close()


async def test_a_reply_that_comes_before_its_request_is_sent_costs_the_connection() -> None:
    async with wired() as on:
        asking = asyncio.ensure_future(on.connection.send(b"x" * 30_000_000))  # more than the kernel takes
        await turns()
        await on.serve(b"HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\n\r\n")
        await asking
        assert on.connection.status == 413
        on.connection.let_go()
        assert on.pool.kept() is None


async def test_without_time_to_keep_none_is_kept() -> None:
    async with wired(keep_alive=0) as on:
        reply = await on.reply(CHUNKED, LAST_CHUNK)
        reply.let_go()
        assert on.pool.kept() is None


async def test_closing_a_pool_closes_what_is_open_and_what_opens() -> None:
    async with Upstream() as upstream:
        upstream.always(head(), silence())
        pool = Pool(origin_of(upstream.base_url), 4)
        idle, busy = await pool.fresh(), await pool.fresh()
        await busy.send(REQUEST)
        reading = asyncio.ensure_future(idle.send(REQUEST))
        dialing = asyncio.ensure_future(pool.fresh())
        await asyncio.sleep(0)
        await pool.close()
        with pytest.raises(NoReplyError):
            await reading
        with pytest.raises(UnreachableError):
            await dialing
        await pool.close()
        await upstream.all_left()


async def test_a_dial_that_is_cancelled_leaves_nothing() -> None:
    with never_accepting_port() as port:
        pool = Pool(origin_of(f"http://127.0.0.1:{port}"), 4)
        dialing = asyncio.ensure_future(pool.fresh())
        await turns()
        dialing.cancel()
        await asyncio.wait([dialing])
        await asyncio.wait_for(pool.close(), 1)
