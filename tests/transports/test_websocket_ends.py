"""How runs on a WebSocket end before their time: canceled, left by their caller, or outlived by nothing at all."""

import asyncio
import os
import signal
import socket as sockets
import struct
from collections.abc import Generator
from contextlib import suppress

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from typing_extensions import override
from websockets.exceptions import ConnectionClosed

from deltawire.bootstrap.websocket_protocol import WebSocketProtocol
from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving
from tests.matrix.ws_caller import shuts_down
from tests.transports.sockets import COUNTING_APP, Socket, census, prompt, script_by_prompt, socket
from tests.upstream import ChatStream, Exchange, Gate, done, finish, head, silence, text, usage

pytestmark = pytest.mark.anyio

HANGS = (head(), text("Hel"), silence())


@pytest.fixture(scope="module")
def counting_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    folder = tmp_path_factory.mktemp("counting")
    app = folder / "counting.py"
    app.write_text(COUNTING_APP)
    with serving(folder, environment, app) as server:
        yield server


@pytest.fixture(autouse=True)
async def afresh(provider: Provider) -> None:
    await provider.begin()


async def asked(provider: Provider, words: str) -> Exchange:
    """The next request whose prompt these words are."""
    while prompt(exchange := await provider.requested()) != words:
        pass
    return exchange


async def one_canceled_and_one_completed(on: Socket, provider: Provider) -> None:
    await on.run("a", "hangs")
    await on.run("b", "completes")
    came = [await on.next() for _ in range(5)]  # of a: started, text; of b: started, text, finished
    hanging = await asked(provider, "hangs")
    await on.cancel("a")
    came.append(await on.next())
    await hanging.client_left(within=1.0)
    types = {run: [message["type"] for message in came if message["id"] == run] for run in "ab"}
    assert types == {"a": ["started", "text", "error"], "b": ["started", "text", "finished"]}
    assert came[-1]["reason"] == "canceled"


async def test_of_two_runs_one_is_canceled_and_the_other_completes_and_100_rounds_leave_nothing_behind(
    counting_server: Server, provider: Provider
) -> None:
    script_by_prompt(provider, hangs=HANGS)
    async with socket(counting_server) as on:
        for _ in range(10):
            await one_canceled_and_one_completed(on, provider)
        before = await census(on, provider)
        for _ in range(100):
            await one_canceled_and_one_completed(on, provider)
        after = await census(on, provider)
    _nothing_is_left(before, after)


async def _leave(on: Socket, way: str) -> None:
    match way:
        case "close":
            await on.connection.close()
        case "vanish":
            on.connection.transport.abort()
        case _:
            raw: sockets.socket = on.connection.transport.get_extra_info("socket")
            raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, struct.pack("ii", 1, 0))
            on.connection.transport.abort()


@pytest.mark.parametrize("way", ["close", "vanish", "reset"])
async def test_a_caller_who_leaves_ends_all_its_runs_and_leaves_nothing_behind(
    counting_server: Server, provider: Provider, way: str
) -> None:
    script_by_prompt(provider, hangs=HANGS)
    counting_server.log.new()

    async def comes_and_goes() -> None:
        async with socket(counting_server) as on:
            for run in ("a", "b"):
                await on.run(run, "hangs")
            assert [(await on.next())["type"] for _ in range(4)].count("text") == 2
            exchanges = [await asked(provider, "hangs") for _ in range(2)]
            await _leave(on, way)
            for exchange in exchanges:
                await exchange.client_left(within=1.0)

    async with socket(counting_server) as watching:
        for _ in range(5):
            await comes_and_goes()
        before = await census(watching, provider)
        for _ in range(40):
            await comes_and_goes()
        after = await census(watching, provider)
    _nothing_is_left(before, after)
    outcomes = [(line["function"], line["outcome"]) for line in counting_server.runs_logged()]
    assert outcomes.count(("say", "canceled")) == 2 * 45


async def test_a_caller_who_closes_while_its_run_fails_causes_no_traceback(
    counting_server: Server, provider: Provider
) -> None:
    counting_server.log.new()
    for _ in range(40):
        gate = Gate()
        provider.script(head(), text("Hel"), gate.wait(), ChatStream().error_event("it broke"))
        async with socket(counting_server) as on:
            await on.run("a")
            assert [(await on.next())["type"], (await on.next())["type"]] == ["started", "text"]
            gate.open()
            await on.connection.close()
    async with asyncio.timeout(20):
        lines = counting_server.runs_logged()
        while len(lines) < 40:
            await asyncio.sleep(0.01)
            lines += counting_server.runs_logged()
    assert {line["outcome"] for line in lines} <= {"canceled", "upstream_error"}


async def test_a_server_that_shuts_down_plays_the_runs_to_their_end_and_closes_then(
    environment: dict[str, str], provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> None:
    gate = Gate()
    provider.script(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), usage(9, 2), done())
    with serving(tmp_path_factory.mktemp("draining"), environment) as server:
        async with socket(server) as idle, socket(server) as on:
            await on.run("1")
            assert [(await on.next())["type"], (await on.next())["type"]] == ["started", "text"]
            await shuts_down(server)
            assert await _closed(idle) == (1012, "the server is shutting down")
            await on.run("2")
            assert (await on.of("2"))[-1]["reason"] == "draining"
            gate.open()
            assert [message["type"] for message in await on.of("1")] == ["text", "finished"]
            assert await _closed(on) == (1012, "the server is shutting down")


async def test_a_second_signal_ends_the_runs_as_draining_without_a_traceback(
    environment: dict[str, str], provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> None:
    provider.script(*HANGS)
    with serving(tmp_path_factory.mktemp("forced"), environment) as server:
        async with socket(server) as on:
            await on.run("1")
            assert [(await on.next())["type"], (await on.next())["type"]] == ["started", "text"]
            await shuts_down(server)
            await on.run("2")
            assert (await on.of("2"))[-1]["reason"] == "draining"
            os.kill(server.pid, signal.SIGTERM)
            assert (await on.next())["reason"] == "draining"
            assert await _closed(on) == (1012, "the server is shutting down")
        await (await provider.requested()).client_left()
        lines = server.log.new()
    assert [line["outcome"] for line in lines if line["logger"] == "deltawire.run"] == ["draining", "draining"]
    assert not [line for line in lines if "trace" in line]


async def _closed(on: Socket) -> tuple[int, str]:
    with pytest.raises(ConnectionClosed) as closed:
        await on.next()
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code, closed.value.rcvd.reason


@pytest.mark.parametrize(("words", "pause"), [("x" * 60_000, 0.0), ("x", 0.005)], ids=["floods", "talks"])
async def test_a_caller_who_neither_reads_nor_answers_a_ping_is_cut(words: str, pause: float) -> None:
    ended, gone = asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
        await send({"type": "websocket.accept"})
        with suppress(OSError):
            while True:
                await send({"type": "websocket.send", "text": words})
                await asyncio.sleep(pause)
        ended.set()

    class Protocol(WebSocketProtocol):
        @override
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            gone.set()

    config = uvicorn.Config(
        app, ws=Protocol, ws_ping_interval=0.1, ws_ping_timeout=0.1, lifespan="off", log_config=None, port=0
    )
    config.load()
    state = uvicorn.Server(config).server_state
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(lambda: Protocol(config, state, {}), "127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
    writer.write(
        b"GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    try:
        async with asyncio.timeout(20):
            await ended.wait()
            await gone.wait()
        assert not state.connections
    finally:
        writer.transport.abort()
        listening.close()


def _nothing_is_left(before: dict[str, int], after: dict[str, int]) -> None:
    assert after["tasks"] == before["tasks"]
    assert after["files"] <= before["files"] + 1  # a connection to the provider may be kept for the next call
    assert after["objects"] - before["objects"] < 100, (before, after)
    assert after["kilobytes"] - before["kilobytes"] < 2_000, (before, after)
