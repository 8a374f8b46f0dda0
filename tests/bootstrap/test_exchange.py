"""What an app says becomes the bytes of HTTP, whatever it says; and it hears of its caller what there is to hear."""

import asyncio
import logging

import pytest
from starlette.types import Receive, Scope, Send

from deltawire.transports.http.request import exchange_of
from deltawire.transports.http.settings import HttpSettings
from tests.bootstrap.listening import USUAL, all_ended, listening

pytestmark = pytest.mark.anyio

HEAD = b"host: localhost\r\nconnection: close\r\n\r\n"


class App:
    """Sends these messages."""

    def __init__(
        self, *messages: dict[str, object], headers: tuple[tuple[bytes, bytes], ...] = (), status: int = 200
    ) -> None:
        self._messages = [{"type": "http.response.start", "status": status, "headers": headers}, *messages]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        for message in self._messages:
            await send(message)


def body(text: bytes, *, more: bool = False) -> dict[str, object]:
    return {"type": "http.response.body", "body": text, "more_body": more}


async def said(app: App, request: bytes = b"GET / HTTP/1.1\r\n") -> bytes:
    """All that a caller is sent until the connection ends."""
    async with listening(app) as (port, state), asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request + HEAD)
        received = await reader.read()
        writer.close()
        await all_ended(state)
        return received


async def test_a_body_of_unknown_length_is_told_in_chunks() -> None:
    parts = body(b"one", more=True), body(b"", more=True), body(b"two", more=True), body(b"")
    assert await said(App(*parts, headers=((b"x-a", b"1"), (b"x-b", b"2")))) == (
        b"HTTP/1.1 200 OK\r\nx-a: 1\r\nx-b: 2\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
    )


@pytest.mark.parametrize(("part", "chunk"), [(b":\n", b"2\r\n:\n\r\n"), (b"", b"")])
async def test_the_head_goes_out_with_what_is_said_first_though_nothing_follows(part: bytes, chunk: bytes) -> None:
    heard = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send(body(part, more=True))
        await heard.wait()
        await send(body(b"end"))

    async with listening(app) as (port, state), asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n" + HEAD)
        head = b"HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        assert await reader.readexactly(len(head + chunk)) == head + chunk
        heard.set()
        assert await reader.read() == b"3\r\nend\r\n0\r\n\r\n"
        writer.close()
        await all_ended(state)


async def test_a_body_whose_length_is_told_goes_out_as_it_is() -> None:
    parts = body(b"on", more=True), body(b"e")
    assert await said(App(*parts, headers=((b"content-length", b"3"),))) == (
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\none"
    )


async def test_a_caller_of_http_1_0_gets_the_body_until_the_end_of_the_connection() -> None:
    parts = body(b"one", more=True), body(b"two")
    received = await said(App(*parts), b"GET / HTTP/1.0\r\n")
    assert received == b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nonetwo"


@pytest.mark.parametrize("headers", [(), ((b"content-length", b"3"),)])
async def test_head_gets_the_head_alone(headers: tuple[tuple[bytes, bytes], ...]) -> None:
    fields = b"".join(b"%b: %b\r\n" % field for field in headers)
    received = await said(App(body(b"one"), headers=headers), b"HEAD / HTTP/1.1\r\n")
    assert received == b"HTTP/1.1 200 OK\r\n" + fields + b"connection: close\r\n\r\n"


@pytest.mark.parametrize(("status", "line"), [(204, b"204 No Content"), (304, b"304 Not Modified")])
async def test_a_status_that_has_no_body_is_the_head_alone(status: int, line: bytes) -> None:
    received = await said(App(body(b"one", more=True), body(b""), status=status))
    assert received == b"HTTP/1.1 " + line + b"\r\nconnection: close\r\n\r\n"


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"a\rb", b"a\0b"])
async def test_a_header_is_one_line_or_the_reply_is_a_failure(value: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL):
        received = await said(App(body(b"one"), headers=((b"x-a", value),)))
    assert received.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert b"x-a" not in received


@pytest.mark.parametrize("parts", [[body(b"four")], [body(b"1", more=True), body(b"2")], [body(b"")]])
async def test_a_body_of_another_length_than_was_told_is_cut(
    parts: list[dict[str, object]], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.CRITICAL):
        received = await said(App(*parts, headers=((b"content-length", b"3"),)))
    assert len(received.partition(b"\r\n\r\n")[2]) < 3


@pytest.mark.parametrize("messages", [[], [body(b"one", more=True)]])
async def test_a_reply_that_is_not_completed_is_cut_and_logged(
    messages: list[dict[str, object]], caplog: pytest.LogCaptureFixture
) -> None:
    received = await said(App(*messages))
    assert not received.endswith(b"0\r\n\r\n")
    assert [record.message for record in caplog.records] == ["the app has not answered completely: /"]


class Hears:
    """Hears why its caller is gone."""

    def __init__(self, *, late: bool = False, writes: bool = False) -> None:
        self._late = late
        self._writes = writes
        self.why: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.began = asyncio.Event()
        self.gone = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        assert exchange is not None
        assert await receive() == {"type": "http.request", "body": b"", "more_body": False}
        self.began.set()
        if self._late:
            assert (await receive())["type"] == "http.disconnect"
        exchange.when_left(self.why.set_result)
        if self._writes:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send(body(b"x" * 32_000_000, more=True))
        await asyncio.shield(self.why)


@pytest.mark.parametrize("late", [False, True])
async def test_an_app_hears_that_its_caller_is_gone_also_where_it_asks_late(late: bool) -> None:
    app = Hears(late=late)
    async with listening(app) as (port, state), asyncio.timeout(20):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        await app.began.wait()
        writer.transport.abort()
        assert await app.why == "the caller left"
        await all_ended(state)


async def test_an_app_hears_that_its_caller_was_given_up() -> None:
    app = Hears(writes=True)
    async with listening(app, HttpSettings(write_timeout=USUAL.write_timeout)) as (port, state), asyncio.timeout(20):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert "took nothing of the reply" in await app.why
        writer.transport.abort()
        await all_ended(state)


async def test_a_body_that_has_come_whole_is_taken_without_waiting_and_once() -> None:
    taken: list[bytes | None] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        assert exchange is not None
        while (whole := exchange.whole_body()) is None:
            await asyncio.sleep(0)
            taken.append(None)
        taken.append(whole)
        await App(body(b""))(scope, receive, send)

    async with listening(app) as (port, state), asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 6\r\n\r\nabc")
        while not taken:  # noqa: ASYNC110 - the first half is there
            await asyncio.sleep(0)
        writer.write(b"def")
        await reader.read()
        writer.close()
        await all_ended(state)
    assert taken[0] is None
    assert taken[-1] == b"abcdef"
