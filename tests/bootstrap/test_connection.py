"""A caller's connection ends although its caller does not read or stop sending, and carries what was pipelined."""

import asyncio

import pytest
from starlette.types import Receive, Scope, Send

from deltawire.transports.http.settings import HttpSettings
from tests.bootstrap.listening import all_ended, listening

pytestmark = pytest.mark.anyio

REQUEST = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"


async def long_answer(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": b"x" * 16_000_000})


async def short_answer(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def kept_alive(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"x" * 16_000_000})


async def test_a_reply_in_one_piece_that_nobody_takes_is_dropped() -> None:
    async with listening(kept_alive) as (port, state):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST)
        async with asyncio.timeout(20):
            while not state.total_requests:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)
        await all_ended(state)
        writer.transport.abort()


async def test_a_connection_that_is_closed_ends_when_its_caller_takes_nothing_more() -> None:
    async with listening(long_answer) as (port, state):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST)
        await writer.drain()
        async with asyncio.timeout(20):
            while not state.total_requests:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)
        await all_ended(state)
        writer.transport.abort()


async def test_a_caller_that_reads_slowly_gets_everything() -> None:
    async with listening(long_answer) as (port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST)
        received = 0
        while piece := await reader.read(1_000_000):
            received += len(piece)
            await asyncio.sleep(0.001)
        assert received > 16_000_000
        writer.close()


async def test_a_connection_on_which_nothing_is_asked_ends() -> None:
    async with listening(short_answer) as (port, state):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(20):
            assert await reader.read() == b""
        writer.close()
        await all_ended(state)


async def test_pipelined_requests_are_all_answered() -> None:
    async with listening(short_answer) as (port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST * 100)
        async with asyncio.timeout(20):
            for _ in range(100):
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
        writer.close()


async def refusal(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    """Reads nothing of the request."""
    await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})


UPLOAD = 4_000_000
PART = b"x" * 65536


@pytest.mark.parametrize("request_line", ["POST / HTTP/1.1", "POST / HTTP/1.0"])
async def test_a_caller_that_is_refused_while_it_is_sending_gets_the_reply(request_line: str) -> None:
    async with listening(refusal, HttpSettings(write_timeout=20)) as (port, state):  # who is slow is still waited for
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"{request_line}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {UPLOAD}\r\n\r\n"
        writer.write(head.encode())
        for _ in range(0, UPLOAD, len(PART)):
            writer.write(PART)
            await writer.drain()
            await asyncio.sleep(0.001)
        async with asyncio.timeout(20):
            assert (await reader.read()).startswith(b"HTTP/1.1 413 ")
        writer.close()
        await all_ended(state)


@pytest.mark.parametrize("sends", [True, False])
async def test_a_caller_that_is_refused_and_does_not_leave_is_left(sends: bool) -> None:
    async with listening(refusal) as (port, state):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n")
        async with asyncio.timeout(20):
            while not state.total_requests:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)
            while state.connections:
                if sends:
                    writer.write(b"1\r\nx\r\n")
                await asyncio.sleep(0.01)
        writer.transport.abort()
