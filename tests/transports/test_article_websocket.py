"""The streaming-chat article's WebSocket on the shipped server, through ``websockets``."""

import os
import signal
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.matrix.provider import Provider
from tests.matrix.reply import Reply
from tests.matrix.server import Server, serving
from tests.matrix.ws_caller import shuts_down
from tests.transports.article_app import __file__ as APP
from tests.transports.article_page import Outcome, outcomes
from tests.transports.plain_sse import Event, answer, events
from tests.transports.sockets import prompt, script_by_prompt
from tests.upstream import Exchange, Gate, bytewise, done, finish, head, repeat, role, silence, text
from tests.upstream import answer as says

pytestmark = pytest.mark.anyio

HANGS = (head(), text("Hel"), silence())
FLOODS = (head(), repeat(text("x\n" * 30_000)))
WORDS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\r\n: "), min_size=1)


@pytest.fixture(autouse=True)
async def afresh(provider: Provider, article_server: Server) -> None:
    await provider.begin()
    article_server.log.new()


@asynccontextmanager
async def socket(server: Server, **options: Any) -> AsyncGenerator[ClientConnection]:
    url = f"ws://127.0.0.1:{server.port}/ws"
    options = {"proxy": None, "max_size": None, **options}
    async with connect(url, **options) as connection:
        yield connection


async def reply(on: ClientConnection) -> str:
    """The messages until the end of one answer, one after another: a stream of server-sent events."""
    stream = ""
    while not stream.startswith(("event: end", "event: error")) and "\n\nevent: " not in stream:
        message = await on.recv()
        assert isinstance(message, str)
        assert message.endswith("\n\n")
        stream += message
    return stream


async def all_logged(server: Server, count: int) -> list[tuple[str, str]]:
    """The transports and outcomes of the runs."""
    return [(line["transport"], line["outcome"]) for line in await server.logged(count)]


@pytest.mark.parametrize("outcome", outcomes("ws"), ids=lambda outcome: outcome.name)
async def test_each_outcome_is_as_the_page_says(article_server: Server, provider: Provider, outcome: Outcome) -> None:
    script = outcome.script()
    provider.play(script)
    stops = script.stops
    stream = ""
    async with socket(article_server) as on:
        await on.send("hi")
        while not stream.startswith("event: ") and "\n\nevent: " not in stream:
            stream += str(await on.recv())
            if stops and stops[0].words.splitlines()[-1] in stream:
                stops.pop(0).gate.open()
    came = Reply("", stream.encode(), complete=True)
    assert came.written() == came.as_expected(outcome.expected["ws"], "ws")


async def test_prompts_on_one_socket_are_answered_one_after_another(article_server: Server, provider: Provider) -> None:
    gate = Gate()
    script_by_prompt(provider, first=(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), done()))
    async with socket(article_server) as on:
        await on.send("first")
        assert await on.recv() == "data: Hel\n\n"
        await on.send("second")
        await on.send("third")
        await on.ping()
        assert [prompt(exchange) for exchange in provider.exchanges] == ["first"]
        gate.open()
        assert await reply(on) == "data: lo\n\nevent: end\ndata: \n\n"
        assert [answer(await reply(on)), answer(await reply(on))] == ["second", "third"]
    assert [prompt(exchange) for exchange in provider.exchanges] == ["first", "second", "third"]
    assert article_server.runs_logged()[0]["transport"] == "article_ws"


async def test_fifty_prompts_in_turn_leave_the_socket_as_it_was(article_server: Server, provider: Provider) -> None:
    script_by_prompt(provider)
    async with socket(article_server) as on:
        for number in range(50):
            await on.send(f"{number}\n")
            assert answer(await reply(on)) == f"{number}\n"


@pytest.mark.parametrize("words", ["", '{"prompt": "hi"}', '{"type":"cancel","id":"1"}', "a\r\n\0\u2028🙂", " "])
async def test_a_prompt_is_the_message_as_it_stands(article_server: Server, provider: Provider, words: str) -> None:
    provider.always(says("Hello"))
    async with socket(article_server) as on:
        await on.send(words)
        assert answer(await reply(on)) == "Hello"
    asked = (await provider.requested()).request.json
    assert asked["messages"] == [{"role": "user", "content": words}]
    assert (asked["seed"], asked["temperature"]) == (42, 1)
    assert asked.get("max_completion_tokens", asked.get("max_tokens")) == 100


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(WORDS, min_size=1))
@example(pieces=["a\n", "\n", "\nb", "data: x", "event: end\ndata: \n\n", "None", ": ", " ", "\u2028", "\0", "🙂"])
@example(pieces=["\r", "\n", "\r", "\r\n", "a\r", "\nb"])
async def test_the_exact_answer_arrives_but_for_cr(
    article_server: Server, provider: Provider, pieces: list[str]
) -> None:
    provider.always(head(), *(bytewise(text(piece)) for piece in pieces[:3]), *map(text, pieces[3:]), finish(), done())
    async with socket(article_server) as on:
        await on.send("hi")
        stream = await until_end(on)
    assert answer(stream) == "".join(pieces).replace("\r\n", "\n").replace("\r", "\n")
    assert list(events(stream))[-1] == Event("end", "")


async def until_end(on: ClientConnection) -> str:
    """Whatever the answer holds: its own lines begin with ``data: ``."""
    stream = ""
    while (message := str(await on.recv())) != "event: end\ndata: \n\n":
        stream += message
    return stream + message


async def test_a_message_that_is_no_text_is_told_so_in_its_turn(article_server: Server, provider: Provider) -> None:
    gate = Gate()
    provider.script(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), done())
    provider.script(says("Hello"))
    async with socket(article_server) as on:
        await on.send("hi")
        assert await on.recv() == "data: Hel\n\n"
        await on.send(b"hi")
        await on.send("hi")
        gate.open()
        streams = [await reply(on) for _ in range(3)]
    assert (answer(streams[0]), answer(streams[2])) == ("lo", "Hello")
    [refused] = events(streams[1])
    assert refused.type == "error"
    assert '"reason":"unsupported_media"' in refused.data


async def test_a_failed_answer_does_not_hold_up_the_next(article_server: Server, provider: Provider) -> None:
    script_by_prompt(provider, bad=(head(), text("Hel")))
    async with socket(article_server) as on:
        await on.send("bad")
        await on.send("good")
        assert [event.type for event in events(await reply(on))] == ["message", "error"]
        assert answer(await reply(on)) == "good"


@pytest.mark.parametrize("seen", ["nothing", "a piece"])
async def test_callers_who_leave_close_the_providers_connection(
    article_server: Server, provider: Provider, seen: str
) -> None:
    provider.always(head(), role() if seen == "nothing" else text("Hel"), silence())
    url = f"ws://127.0.0.1:{article_server.port}/ws"
    sockets = [await connect(url, proxy=None) for _ in range(50)]
    for on in sockets:
        await on.send("hi")
        await on.send("never asked")
    exchanges: list[Exchange] = [await provider.requested() for _ in sockets]
    for on in sockets:
        if seen == "a piece":
            await on.recv()
        on.transport.abort()
    for exchange in exchanges:
        await exchange.client_left(within=1.0)
    assert await all_logged(article_server, 50) == [("article_ws", "canceled")] * 50
    assert len(provider.exchanges) == 50


async def test_more_prompts_than_may_wait_close_the_socket(article_server: Server, provider: Provider) -> None:
    provider.script(*HANGS)
    async with socket(article_server) as on:
        await on.send("hi")
        assert await on.recv() == "data: Hel\n\n"
        for _ in range(4):  # three may wait
            await on.send("hi")
        with pytest.raises(ConnectionClosed) as closed:
            await on.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008
    assert closed.value.rcvd.reason == "3 prompts wait on this socket (http.max_runs_per_socket)"
    await (await provider.requested()).client_left()
    assert await all_logged(article_server, 1) == [("article_ws", "canceled")]


async def test_a_prompt_that_is_too_large_closes_the_socket(article_server: Server) -> None:
    async with socket(article_server) as on:
        await on.send("x" * (1024 * 1024 + 1))
        with pytest.raises(ConnectionClosed) as closed:
            await on.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


async def test_a_socket_that_is_not_read_pauses_its_provider_until_the_runs_time_is_over(
    environment: dict[str, str], provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> None:
    provider.script(*FLOODS)
    provider.script(says("Hello"))
    setting = {"DELTAWIRE_ARTICLE_FUNCTION": "brief"}
    with serving(tmp_path_factory.mktemp("brief"), {**environment, **setting}, Path(APP)) as server:
        async with socket(server, max_queue=1) as on:
            await on.send("hi")
            exchange = await provider.requested()
            await exchange.client_left(within=3)
            assert exchange.sent < 20_000_000
            stream = ""
            while '"reason":"total_timeout"' not in stream:
                stream = str(await on.recv())
            await on.send("hi")
            assert answer(await reply(on)) == "Hello"


@pytest.fixture
def draining_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with serving(tmp_path_factory.mktemp("draining"), environment, Path(APP)) as server:
        yield server


async def test_a_server_that_shuts_down_ends_the_answer_and_refuses_those_that_wait(
    draining_server: Server, provider: Provider
) -> None:
    gate = Gate()
    provider.script(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), done())
    async with socket(draining_server) as idle, socket(draining_server) as on:
        await on.send("hi")
        assert await on.recv() == "data: Hel\n\n"
        await on.send("waits")
        await shuts_down(draining_server)
        with pytest.raises(ConnectionClosed):
            await idle.recv()
        gate.open()
        assert answer(await reply(on)) == "lo"
        assert '"reason":"draining"' in await reply(on)
        with pytest.raises(ConnectionClosed) as closed:
            await on.recv()
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1012, "the server is shutting down")


async def test_a_second_signal_ends_the_answer_as_canceled(draining_server: Server, provider: Provider) -> None:
    provider.script(*HANGS)
    async with socket(draining_server) as on:
        await on.send("hi")
        assert await on.recv() == "data: Hel\n\n"
        await shuts_down(draining_server)
        os.kill(draining_server.pid, signal.SIGTERM)
        with pytest.raises(ConnectionClosed):
            await on.recv()
    await (await provider.requested()).client_left()
    lines = draining_server.log.new()
    assert [line["outcome"] for line in lines if line["logger"] == "deltawire.run"] == ["canceled"]
    assert not [line for line in lines if "trace" in line]


@pytest.mark.parametrize(
    ("options", "status"), [({"origin": "https://evil.example"}, 403), ({"subprotocols": ["deltawire.v1"]}, 406)]
)
async def test_handshakes_of_foreign_pages_or_for_a_subprotocol_are_refused(
    article_server: Server, options: dict[str, Any], status: int
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with socket(article_server, **options):
            pass
    assert refused.value.response.status_code == status


async def test_a_request_that_is_no_handshake_is_told_what_is_missing(article_server: Server) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        response = await client.get(f"{article_server.url}/ws")
    assert (response.status_code, response.json()["reason"]) == (426, "upgrade_required")


async def test_the_own_page_may_connect(article_server: Server, provider: Provider) -> None:
    provider.always(says("Hello"))
    async with socket(article_server, origin=f"http://127.0.0.1:{article_server.port}") as on:
        await on.send("hi")
        assert answer(await reply(on)) == "Hello"
