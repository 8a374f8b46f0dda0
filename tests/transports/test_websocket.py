"""``/v1/ws`` on the shipped server: many runs on one socket, and everything that is the connection's own."""

import asyncio
import json
from contextlib import suppress

import httpx
import pytest
import websockets.sync.client
from websockets.exceptions import ConnectionClosed

from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.transports.sockets import prompt, script_by_prompt, socket
from tests.upstream import Gate, answer, done, finish, head, repeat, silence, text, usage

pytestmark = pytest.mark.anyio

HANGS = (head(), text("Hel"), silence())
FLOODS = (head(), repeat(text("x" * 60_000)))
MIB = 1024 * 1024


@pytest.fixture(autouse=True)
async def afresh(provider: Provider, server: Server) -> None:
    await provider.begin()
    server.log.new()


async def test_runs_on_one_socket_keep_their_events_apart(server: Server, provider: Provider) -> None:
    script_by_prompt(provider)
    async with socket(server) as on:
        for number in range(50):
            await on.run(f"r{number}", f"the answer to {number}")
        came = [await on.next() for _ in range(150)]
    for number in range(50):
        mine = [message for message in came if message["id"] == f"r{number}"]
        assert [message["type"] for message in mine] == ["started", "text", "finished"]
        assert mine[1]["text"] == f"the answer to {number}"
    lines = server.runs_logged()
    assert {line["run_id"] for line in lines} == {message["run_id"] for message in came if "run_id" in message}
    assert [(line["transport"], line["outcome"]) for line in lines] == [("ws", "stop")] * 50


async def test_an_id_is_free_when_its_runs_end_has_come(server: Server, provider: Provider) -> None:
    provider.always(answer("Hello"))
    async with socket(server) as on:
        for _ in range(50):
            await on.run("again")
            assert (await on.of("again"))[-1]["type"] == "finished"


async def test_a_message_for_a_live_id_leaves_the_run_alone(server: Server, provider: Provider) -> None:
    gate = Gate()
    provider.script(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), usage(9, 2), done())
    async with socket(server) as on:
        await on.run("1")
        assert [(await on.next())["type"], (await on.next())["text"]] == ["started", "Hel"]
        await on.run("1")
        await on.send({"type": "run", "id": "1", "function": "say", "input": {}, "timeout": 0})
        errors = [await on.next(), await on.next()]
        assert [(error["reason"], "id" in error) for error in errors] == [
            ("duplicate_id", False),
            ("invalid_input", False),
        ]
        gate.open()
        assert [message["type"] for message in await on.of("1")] == ["text", "finished"]


async def test_canceling_what_does_not_run_is_ignored(server: Server, provider: Provider) -> None:
    provider.always(answer("Hello"))
    async with socket(server) as on:
        await on.cancel("never")
        await on.run("1")
        await on.of("1")
        await on.cancel("1")
        await on.run("2")
        assert [message["type"] for message in await on.of("2")] == ["started", "text", "finished"]


async def test_a_run_may_be_canceled_before_it_has_begun(server: Server, provider: Provider) -> None:
    async with socket(server) as on:
        await on.run("1", function="unconnected")
        await on.cancel("1")
        assert [message["reason"] for message in await on.of("1")] == ["canceled"]
    assert provider.exchanges == []


async def test_the_socket_stays_open_whatever_is_sent(server: Server, provider: Provider) -> None:
    provider.always(answer("Hello"))
    run = '{"type":"run","id":"1","function":"say","input":{"message":"hi"}}'
    async with socket(server) as on:
        for nonsense in ("", "{", "[]", '{"type":"run"}', b"", b"\xff\xfe", "nul\x00", "[" * 100_000):
            await on.connection.send(nonsense)
            error = await on.next()
            assert (error["type"], error["code"]) == ("error", "invalid_argument")
            assert "id" not in error
        for form in (run, run.encode(), [run[:7], run[7:40], run[40:]], [run[:9].encode(), run[9:].encode()]):
            await on.connection.send(form)
            assert [message["type"] for message in await on.of("1")] == ["started", "text", "finished"]


async def test_nonsense_that_comes_faster_than_it_is_answered_is_all_answered(server: Server) -> None:
    async with socket(server, max_queue=None) as on:
        await asyncio.gather(*(on.connection.send("{") for _ in range(3000)))
        assert {(await on.next())["reason"] for _ in range(3000)} == {"invalid_json"}


async def test_the_largest_message_is_taken(server: Server, provider: Provider) -> None:
    provider.always(answer("Hello"))
    message = '{"type":"run","id":"1","function":"say","input":{"message":"%s"}}'
    async with socket(server) as on:
        await on.connection.send(message % ("x" * (MIB - len(message) + 2)))
        assert (await on.of("1"))[-1]["type"] == "finished"


@pytest.mark.parametrize("size", [MIB + 1, 20 * MIB])
async def test_a_message_that_is_too_large_closes_its_own_socket_with_the_reason(
    server: Server, provider: Provider, size: int
) -> None:
    provider.script(*HANGS)
    provider.script(answer("Hello"))

    def sends_too_much() -> None:
        url = f"ws://127.0.0.1:{server.port}/v1/ws"
        with websockets.sync.client.connect(url, proxy=None) as connection:
            connection.send('{"type":"run","id":"1","function":"say","input":{"message":"hi"}}')
            connection.recv()
            with suppress(ConnectionClosed):  # it may be told while it is still sending
                connection.send("x" * size)
            with pytest.raises(ConnectionClosed) as closed:
                all(connection.recv() for _ in range(9))
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1009
            assert closed.value.rcvd.reason == f"frame with {size} bytes exceeds limit of {MIB} bytes"

    async with socket(server) as other:
        await asyncio.to_thread(sends_too_much)
        await (await provider.requested()).client_left()
        await other.run("1")
        assert (await other.of("1"))[-1]["type"] == "finished"
    assert sorted(line["outcome"] for line in server.runs_logged()) == ["canceled", "stop"]


async def test_a_caller_who_sends_what_is_too_large_is_not_reset_but_told(server: Server) -> None:
    reader, writer = await shaken(server)
    large = b"\x81\xff" + (20 * MIB).to_bytes(8) + bytes(4)
    async with asyncio.timeout(20):
        for part in (large, *[b" " * MIB] * 20):  # the server has closed before the second, and is read by nobody yet
            writer.write(part)
            await writer.drain()
        told = await reader.read()
    assert told[:4] == b"\x88" + bytes([len(told) - 2]) + (1009).to_bytes(2)
    writer.close()


async def test_a_socket_that_is_closed_in_the_middle_of_a_flood_leaves_no_traceback(
    server: Server, provider: Provider
) -> None:
    provider.always(*FLOODS)
    for _ in range(10):
        async with socket(server) as on:
            await on.run("1")
            assert [(await on.next())["type"], (await on.next())["type"]] == ["started", "text"]
            await on.connection.send("x" * (MIB + 1))
            with pytest.raises(ConnectionClosed):
                await on.of("1")
    for _ in range(10):
        await (await provider.requested()).client_left()
    assert [line["outcome"] for line in server.runs_logged()] == ["canceled"] * 10


async def test_a_text_that_is_not_utf_8_closes_the_socket_without_a_traceback(server: Server) -> None:
    async with socket(server) as on:
        await on.connection.send(b"\xff", text=True)
        with pytest.raises(ConnectionClosed) as closed:
            await on.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1007
    assert server.runs_logged() == []


async def test_a_flood_does_not_hold_up_another_run(server: Server, provider: Provider) -> None:
    script_by_prompt(provider, flood=FLOODS)
    async with socket(server) as on:
        await on.run("flood", "flood")
        for number in range(20):
            await on.run(f"r{number}", "quick")
            seen = 0
            while (message := await on.next())["id"] == "flood" or message["type"] != "finished":
                seen += len(message.get("text", ""))
            assert seen < 16_000_000
        await on.cancel("flood")
        while (await on.next())["type"] != "error":
            pass


async def test_a_socket_that_is_not_read_pauses_its_providers_and_goes_on_when_it_is(
    server: Server, provider: Provider
) -> None:
    gate = Gate()
    script_by_prompt(provider, flood=(head(), repeat(text("x" * 60_000), 400), gate.wait(), finish("stop"), done()))
    async with socket(server, max_queue=1) as on:
        await on.run("flood", "flood")
        exchange = await provider.requested()
        await exchange.stands_still()
        assert exchange.sent < 20_000_000
        gate.open()
        came = await on.of("flood")
    texts = [message["text"] for message in came if message["type"] == "text"]
    assert sum(map(len, texts)) == 400 * 60_000
    assert max(map(len, texts)) <= 64 * 1024
    assert came[-1]["type"] == "finished"


@pytest.mark.parametrize("stop", ["cancel", "time"])
async def test_a_run_whose_caller_does_not_read_can_be_stopped(server: Server, provider: Provider, stop: str) -> None:
    provider.always(*FLOODS)
    async with socket(server, max_queue=1) as on:
        await on.run("flood", function="say" if stop == "cancel" else "brief")
        exchange = await provider.requested()
        if stop == "cancel":
            await exchange.stands_still()
            await on.cancel("flood")
        await exchange.client_left(within=1.0 if stop == "cancel" else 3.0)
        end = (await on.of("flood"))[-1]
        assert (end["reason"], end["partial"]) == ("canceled" if stop == "cancel" else "total_timeout", True)
    assert len(server.runs_logged()) == 1


async def test_pings_come_while_nothing_else_does(hurried_server: Server) -> None:
    reader, writer = await shaken(hurried_server)
    async with asyncio.timeout(20):
        opcode, length = await reader.readexactly(2)
        assert (opcode, length) == (0x89, 4)
    writer.close()


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [([], None), (["deltawire.v1"], "deltawire.v1"), (["soap", "deltawire.v1", "token.SECRET"], "deltawire.v1")],
)
async def test_the_own_subprotocol_is_chosen_among_others(
    server: Server, provider: Provider, offered: list[str], chosen: str | None
) -> None:
    provider.always(answer("Hello"))
    async with socket(server, subprotocols=offered or None) as on:
        assert on.connection.subprotocol == chosen
        assert on.connection.response is not None
        assert "SECRET" not in str(on.connection.response.headers)
        await on.run("1")
        await on.of("1")
    assert "SECRET" not in json.dumps(server.log.new())


async def test_an_allowed_page_may_connect(server: Server) -> None:
    async with socket(server, origin=f"http://127.0.0.1:{server.port}") as on:
        await on.cancel("never")


async def test_a_refused_handshake_and_an_open_socket_write_no_line_of_their_own(server: Server) -> None:
    server.log.new()
    with pytest.raises(websockets.exceptions.InvalidStatus):
        async with socket(server, origin="https://evil.example"):
            pass
    async with socket(server) as on:
        await on.cancel("never")
    assert [line["outcome"] for line in server.runs_logged()] == ["forbidden"]
    async with socket(server) as on:
        await on.cancel("never")
    assert server.log.new() == []


@pytest.mark.parametrize(("method", "status", "header"), [("GET", 426, "upgrade"), ("POST", 405, "allow")])
async def test_a_request_that_is_no_handshake_is_told_what_is_missing(
    server: Server, method: str, status: int, header: str
) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        response = await client.request(method, f"{server.url}/v1/ws")
    assert (response.status_code, response.json()["status"]) == (status, status)
    assert response.headers[header] == {"upgrade": "websocket", "allow": "GET, HEAD, OPTIONS"}[header]
    assert [line["outcome"] for line in server.runs_logged()] == [response.json()["reason"]]


async def test_the_events_of_a_run_that_fails_leave_the_others_alone(server: Server, provider: Provider) -> None:
    gate = Gate()
    going = (head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), usage(9, 2), done())
    script_by_prompt(provider, going=going)
    async with socket(server) as on:
        await on.run("going", "going")
        assert [(await on.next())["type"], (await on.next())["type"]] == ["started", "text"]
        for function, reason in (("broken", "internal"), ("refused", "upstream_unreachable"), ("sey", None)):
            await on.run("failing", function=function)
            (error,) = await on.of("failing")
            assert error["reason"] == (reason or "unknown_function")
        gate.open()
        assert [message["type"] for message in await on.of("going")] == ["text", "finished"]
    assert [prompt(exchange) for exchange in provider.exchanges] == ["going"]


async def shaken(server: Server) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A bare socket whose handshake is over."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(
        b"GET /v1/ws HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
    return reader, writer


@pytest.mark.parametrize(
    ("more", "status"),
    [
        (b"content-length: 5\r\n\r\nhello", 400),
        (b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"cookie: " + b"a" * 9000 + b"\r\n\r\n", 431),
        (b"".join(b"x-%d: a\r\n" % number for number in range(130)) + b"\r\n", 431),
    ],
)
async def test_a_handshake_that_cannot_be_read_is_refused_and_not_left_waiting(
    server: Server, more: bytes, status: int
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(
        b"GET /v1/ws HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n" + more
    )
    try:
        reply = await asyncio.wait_for(reader.read(), 20)  # until it is closed
    finally:
        writer.close()
    assert reply.startswith(b"HTTP/1.1 %d " % status)
