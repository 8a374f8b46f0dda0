"""Failures met on WebSockets."""

import asyncio
import json
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest
import websockets.sync.client
from websockets.exceptions import ConnectionClosed

from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving
from tests.transports.sockets import COUNTING_APP, Message, Socket, census, script_by_prompt, socket
from tests.upstream import ChatStream, Exchange, Gate, answer, head, silence, text

pytestmark = pytest.mark.anyio

ROUNDS = 100
MIB = 1024 * 1024
WAYS = ["close", "vanish", "close while it fails"]


@pytest.fixture(autouse=True)
async def afresh(provider: Provider, server: Server) -> None:
    await provider.begin()
    server.log.new()


@pytest.fixture(scope="module")
def counting_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    folder = tmp_path_factory.mktemp("counting")
    app = folder / "counting.py"
    app.write_text(COUNTING_APP)
    with serving(folder, environment, app) as server:
        yield server


@pytest.mark.parametrize("way", WAYS)
async def test_ws_01_a_tab_that_is_closed_leaves_no_run_no_task_and_no_traceback(
    counting_server: Server, provider: Provider, way: str
) -> None:
    counting_server.log.new()
    async with socket(counting_server) as watching:
        script_by_prompt(provider)
        before = await _census(watching, provider)
        for _ in range(ROUNDS):
            await _one_round(counting_server, provider, way)
        async with asyncio.timeout(20):
            while (after := await _census(watching, provider))["tasks"] > before["tasks"]:
                pass
    assert after["files"] <= before["files"] + 1  # a connection to the provider may be kept
    assert after["kilobytes"] - before["kilobytes"] < 4_000, (before, after)
    ended = [line for line in counting_server.runs_logged() if line["function"] == "say"]
    assert len(ended) == ROUNDS
    left = [line for line in ended if line["outcome"] == "canceled"]
    assert {line["level"] for line in left} <= {"info"}
    if way != "close while it fails":
        assert len(left) == ROUNDS


async def _census(on: Socket, provider: Provider) -> dict[str, int]:
    while provider._arrived.qsize():  # pyright: ignore[reportPrivateUsage]  (those of the rounds)
        await provider.requested()
    return await census(on, provider)


async def _one_round(server: Server, provider: Provider, way: str) -> None:
    gate = Gate()
    ends = (gate.wait(), ChatStream().error_event("it broke")) if way.endswith("fails") else (silence(),)
    provider.script(head(), text("one"), text("two"), *ends)
    async with socket(server) as on:
        await on.run("1")
        said = ""
        while said != "onetwo":
            said += (await on.next()).get("text", "")
        exchange = provider.exchanges[-1]
        match way:
            case "close":
                await on.connection.close(1000)
            case "vanish":
                on.connection.transport.abort()
            case _:
                gate.open()
                await on.connection.close()
                return
        await exchange.client_left(within=1.0)


@pytest.mark.parametrize("lines", [["deltawire.v1, tok.SECRET"], ["deltawire.v1", "tok.SECRET"], ["tok.SECRET"]])
async def test_ws_03_a_secret_among_the_subprotocols_is_never_said_again(server: Server, lines: list[str]) -> None:
    reply = await _handshake(server, "/v1/ws?token=SECRET", *(f"sec-websocket-protocol: {line}" for line in lines))
    assert b"SECRET" not in reply
    if lines == ["tok.SECRET"]:
        assert reply.startswith(b"HTTP/1.1 406 ")
    else:
        assert reply.startswith(b"HTTP/1.1 101 ")
        assert reply.count(b"ec-WebSocket-Protocol: deltawire.v1\r\n") == 1
    assert server.runs_logged() is not None  # what the loop did before is in the file now
    assert "SECRET" not in server.log.file.read_text()


async def _handshake(server: Server, path: str, *more: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    lines = [f"GET {path} HTTP/1.1", "host: localhost", "upgrade: websocket", "connection: upgrade"]
    lines += ["sec-websocket-version: 13", "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==", *more, "", ""]
    writer.write("\r\n".join(lines).encode())
    reply = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
    if not reply.startswith(b"HTTP/1.1 101 "):
        reply += await asyncio.wait_for(reader.read(), 20)
    writer.close()
    return reply


RUN = '{"type":"run","id":"1","function":"say","input":{"message":"hi"}}'


async def test_ws_04_a_binary_frame_with_json_is_a_message(server: Server, provider: Provider) -> None:
    provider.always(answer("Hello"))
    async with socket(server) as on:
        await on.connection.send(RUN.encode())
        assert (await on.of("1"))[-1]["type"] == "finished"


@pytest.mark.parametrize("frame", [b"\xff\xfe", "", b""], ids=["no UTF-8", "empty", "no bytes"])
async def test_ws_04_a_frame_that_nobody_expects_is_told_so_and_the_socket_stays_open(
    server: Server, provider: Provider, frame: str | bytes
) -> None:
    provider.always(answer("Hello"))
    async with socket(server) as on:
        await on.connection.send(frame)
        assert (await on.next())["type"] == "error"
        await on.run("2")
        assert (await on.of("2"))[-1]["type"] == "finished"
    assert len(provider.exchanges) == 1


async def test_ws_04_a_message_in_fragments_is_one_message(server: Server, provider: Provider) -> None:
    provider.always(answer("Hello"))
    async with socket(server) as on:
        await on.connection.send([RUN[:10], RUN[10:11], "", RUN[11:]])
        assert (await on.of("1"))[-1]["type"] == "finished"


@pytest.mark.parametrize("size", [MIB + 1, 20 * MIB])
async def test_ws_04_a_message_beyond_the_limit_closes_its_own_socket_with_the_reason(
    server: Server, provider: Provider, size: int
) -> None:
    provider.always(answer("Hello"))
    async with socket(server) as other:
        code, reason = await asyncio.to_thread(_closed_for, server, "x" * size)
        assert (code, f"limit of {MIB} bytes" in reason) == (1009, True)
        await other.run("1")
        assert (await other.of("1"))[-1]["type"] == "finished"
    assert [line["outcome"] for line in server.runs_logged()] == ["stop"]


def _closed_for(server: Server, message: str) -> tuple[int, str]:
    """How the server closes a socket on which that is sent. With the blocking client: the other one stumbles over a
    close that comes while it is still sending."""
    url = f"ws://127.0.0.1:{server.port}/v1/ws"
    with websockets.sync.client.connect(url, proxy=None) as connection:
        with suppress(ConnectionClosed):
            connection.send(message)
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv()
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code, closed.value.rcvd.reason


async def test_ws_04_the_limit_is_a_setting(environment: dict[str, str], provider: Provider, tmp_path: Path) -> None:
    provider.always(answer("Hello"))
    larger = {"DELTAWIRE_HTTP__MAX_BODY_BYTES": str(30 * MIB)}
    message: Message = {"type": "run", "id": "1", "function": "say", "input": {"message": "x" * (20 * MIB)}}
    with serving(tmp_path, {**environment, **larger}) as server:
        async with socket(server) as on:
            await on.connection.send(json.dumps(message))
            assert (await on.of("1"))[-1]["type"] == "finished"
    asked: Exchange = provider.exchanges[0]
    assert len(asked.request.json["messages"][-1]["content"]) == 20 * MIB
