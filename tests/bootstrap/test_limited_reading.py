"""Callers that send too much, or too slowly: each is refused in time, and no reply to another call is harmed."""

import asyncio
from contextlib import suppress
from itertools import repeat

import pytest
from starlette.types import Receive, Scope, Send

from deltawire.transports.http.settings import HttpSettings
from tests.bootstrap.listening import all_ended, listening

pytestmark = pytest.mark.anyio

LIMITS = HttpSettings(header_timeout=0.3, body_timeout=0.3, write_timeout=0.3, max_headers=20)
GET = b"GET / HTTP/1.1\r\nhost: a\r\n"
UPGRADE = (
    GET + b"upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


async def answers_at_once(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


class AnswersLater:
    """Its reply is one chunk, and the other when the test says so."""

    def __init__(self) -> None:
        self.goes_on = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"Hel", "more_body": True})
        await self.goes_on.wait()
        await send({"type": "http.response.body", "body": b"lo"})


async def opens_a_websocket(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    await receive()
    await send({"type": "websocket.accept"})
    await receive()


async def reply_while_sending(port: int, *parts: bytes, every: float = 0.0) -> bytes:
    """Everything that comes until the server closes, while the parts are sent, the last one again and again. Its system
    resets the connection when it has not read them all."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def send() -> None:
        for part in parts:
            writer.write(part)
        for _ in repeat(None, 100_000):
            await asyncio.sleep(every)
            writer.write(parts[-1])
            await writer.drain()

    sending, reply = asyncio.create_task(send()), b""
    try:
        with suppress(ConnectionResetError):
            async with asyncio.timeout(5):
                while piece := await reader.read(65536):
                    reply += piece
        return reply
    finally:
        sending.cancel()
        with suppress(asyncio.CancelledError, OSError):
            await sending
        writer.transport.abort()


@pytest.mark.parametrize("begin", [b"GET /", GET, GET + b"x: "], ids=["request line", "headers", "one header"])
async def test_a_head_that_drips_is_refused_in_time(begin: bytes) -> None:
    async with listening(answers_at_once, LIMITS) as (port, state):
        reply = await reply_while_sending(port, begin, b"x", every=0.02)
        assert reply.startswith(b"HTTP/1.1 408 ")
        assert reply.endswith(b"The request's head was not complete within 0.3 s (http.header_timeout).\n")
        await all_ended(state)


async def test_the_second_head_on_a_connection_has_its_time_too() -> None:
    async with listening(answers_at_once, LIMITS) as (port, state):
        reply = await reply_while_sending(port, GET + b"\r\n", GET, b"x", every=0.02)
        assert [line for line in reply.split(b"\r\n") if line.startswith(b"HTTP")] == [
            b"HTTP/1.1 204 No Content",
            b"HTTP/1.1 408 Request Timeout",
        ]
        await all_ended(state)


@pytest.mark.parametrize(
    "endless",
    [
        (b"GET /", b"a" * 4096),
        (GET, b"x: y\r\n" * 10 + b"x: " + b"y" * 4096),
        (GET + b"x: ", b"y" * 4096),
        (GET + b"x", b"y" * 4096),
    ],
    ids=["request line", "headers", "value", "name"],
)
async def test_a_head_without_end_is_refused(endless: tuple[bytes, ...]) -> None:
    async with listening(answers_at_once, LIMITS.model_copy(update={"header_timeout": 5.0})) as (port, state):
        assert (await reply_while_sending(port, *endless)).startswith(b"HTTP/1.1 431 ")
        await all_ended(state)


async def first_line(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    async with asyncio.timeout(5):
        line = await reader.readline()
    writer.close()
    return line.strip()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (b"x: y\r\n" * 19, b"204"),
        (b"x: y\r\n" * 20, b"431"),
        (b"x: " + b"y" * 32_000 + b"\r\n", b"204"),
        (b"x: " + b"y" * 33_000 + b"\r\n", b"431"),
    ],
    ids=["as many as may be", "one more", "as much as may be", "more"],
)
async def test_a_head_may_have_so_much_and_no_more(headers: bytes, status: bytes) -> None:
    async with listening(answers_at_once, LIMITS) as (port, _):
        assert (await first_line(port, GET + headers + b"\r\n")).split()[1] == status


async def test_many_requests_in_one_read_are_no_large_head() -> None:
    async with listening(answers_at_once, LIMITS) as (port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        requests = (GET + b"\r\n") * 2_000
        writer.write(requests[:-4])
        writer.write(requests[-4:])
        async with asyncio.timeout(5):
            for _ in range(2_000):
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
        writer.close()


@pytest.mark.parametrize(
    "then", [b"nonsense\r\n\r\n", GET + b"x: " + b"y" * 40_000, GET + b"x: y\r\n" * 30 + b"\r\n", UPGRADE]
)
async def test_a_request_that_is_refused_leaves_the_reply_before_it_whole(then: bytes) -> None:
    app = AnswersLater()
    async with listening(app, LIMITS) as (port, state):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(GET + b"\r\n" + then)
        async with asyncio.timeout(5):
            assert (await reader.readuntil(b"Hel\r\n")).startswith(b"HTTP/1.1 200")
            app.goes_on.set()
            assert await reader.read() == b"2\r\nlo\r\n0\r\n\r\n"
        writer.close()
        await all_ended(state)


@pytest.mark.parametrize("framing", [b"content-length: 100000", b"transfer-encoding: chunked"])
async def test_a_body_that_drips_behind_its_reply_is_left_in_time(framing: bytes) -> None:
    async with listening(answers_at_once, LIMITS, keep_alive=30) as (port, state):
        post = b"POST / HTTP/1.1\r\nhost: a\r\n" + framing + b"\r\n\r\n"
        reply = await reply_while_sending(port, post, b"1\r\nx\r\n", every=0.02)
        assert reply.startswith(b"HTTP/1.1 204")
        await all_ended(state)


async def test_a_connection_is_idle_when_a_body_ends_behind_its_reply() -> None:
    async with listening(answers_at_once, LIMITS, keep_alive=0.4) as (port, state):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nx")
        async with asyncio.timeout(5):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"x")
            assert await reader.read() == b""
        writer.close()
        await all_ended(state)


async def test_no_limit_of_requests_ends_a_websocket() -> None:
    async with listening(opens_a_websocket, LIMITS, keep_alive=0.3) as (port, state):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(UPGRADE)
        await reader.readuntil(b"\r\n\r\n")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(), 1)
        writer.transport.abort()
        await all_ended(state)


async def test_a_connection_whose_reply_is_whole_may_become_a_websocket() -> None:
    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        await (answers_at_once if scope["type"] == "http" else opens_a_websocket)(scope, receive, send)

    async with listening(either, LIMITS) as (port, state):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request, status in ((GET + b"\r\n", b"204"), (UPGRADE, b"101")):
            writer.write(request)
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 " + status)
        writer.transport.abort()
        await all_ended(state)
