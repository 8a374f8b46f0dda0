"""A server with one place: whoever comes second is refused at once, and the place is free as soon as a run is over."""

import asyncio
import random
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, suppress

import pytest
from websockets.asyncio.client import connect

from tests.contract.places import canceled, one_under_way
from tests.contract.visitors import HttpVisitor, Visitor, visit, ways
from tests.matrix.answers import answer
from tests.matrix.notation import Call
from tests.matrix.reply import Reply
from tests.matrix.server import Server, serving
from tests.matrix.stage import Matrix, http_caller
from tests.matrix.transports import OVER_HTTP, TRANSPORTS
from tests.upstream import done, finish, head, reset, silence, text

pytestmark = pytest.mark.anyio

SAY = Call("say")
PLACES = 20
WIRED = [transport for transport in TRANSPORTS if transport != "engine"]

every_wire = pytest.mark.parametrize("transport", WIRED)
over_http = pytest.mark.parametrize("transport", OVER_HTTP)


@pytest.fixture
def narrow(matrix: Matrix, narrow_server: Server) -> Matrix:
    narrow_server.log.new()
    return Matrix(matrix.provider, narrow_server, matrix.core, matrix.records)


async def says(narrow: Matrix, transport: str, word: str) -> Reply:
    narrow.provider.script(head(), text(word), finish("stop"), done())
    return await narrow.caller(transport).call(SAY)


@every_wire
async def test_a_run_on_any_transport_takes_the_place_and_its_end_frees_it(narrow: Matrix, transport: str) -> None:
    async with one_under_way(narrow, transport):
        refused = await narrow.caller("json").call(SAY)
        assert refused.head.splitlines()[0] == "HTTP/1.1 429 Too Many Requests"
        assert "retry-after: 1" in refused.head.splitlines()
    for word in ("one", "two", "three"):
        assert answer(transport, await says(narrow, transport, word)) == word


@every_wire
async def test_runs_that_fail_free_the_place(narrow: Matrix, transport: str) -> None:
    for call in (Call("broken"), Call("refused"), Call("nobody"), Call("say", body=b"nonsense")) * 2:
        await narrow.caller(transport).call(call)
    assert answer(transport, await says(narrow, transport, "free")) == "free"


@over_http
async def test_whoever_is_refused_has_not_sent_its_body(narrow: Matrix, transport: str) -> None:
    async with one_under_way(narrow, "json"), sent(narrow.server, head_of(transport, narrow.server)) as (reader, _):
        async with asyncio.timeout(20):
            came = await reader.readuntil(b"\r\n\r\n")
        assert b"deltawire-run-id: " in came
    assert answer(transport, await says(narrow, transport, "free")) == "free"


@over_http
@pytest.mark.parametrize("way", ["close", "reset"])
async def test_a_caller_who_leaves_in_the_middle_of_its_body_frees_the_place(
    narrow: Matrix, transport: str, way: str
) -> None:
    async with sent(narrow.server, head_of(transport, narrow.server) + b"{") as (reader, writer):
        await refused(narrow)
        HttpVisitor(reader, writer).leave(way)
        await canceled(narrow, transport)
    assert answer(transport, await says(narrow, transport, "free")) == "free"


@pytest.mark.parametrize("transport", [transport for transport in WIRED if transport != "ws"])
async def test_a_caller_who_leaves_frees_the_place(narrow: Matrix, transport: str) -> None:
    for way in ways(transport):
        for steps in ([silence()], [head(), silence()], [head(), text("a"), silence()]):
            narrow.provider.script(*steps)
            visitor = await visit(transport, narrow.server, SAY)
            exchange = await narrow.provider.requested()
            visitor.leave(way)
            await exchange.client_left(within=1.0)
            await canceled(narrow, transport)
            visitor.close()
    assert answer(transport, await says(narrow, transport, "free")) == "free"


@pytest.fixture(scope="module")
def wide_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """With a few places, and signs of life at once."""
    few = {
        "DELTAWIRE_MAX_RUNS": str(PLACES),
        "DELTAWIRE_HTTP__STATUS_HOLD": "0.01",
        "DELTAWIRE_HTTP__HEARTBEAT": "0.01",
    }
    with serving(tmp_path_factory.mktemp("wide"), {**environment, **few}) as server:
        yield server


@pytest.mark.parametrize("seed", range(3))
async def test_after_a_storm_of_callers_who_leave_at_any_moment_all_places_are_free(
    matrix: Matrix, wide_server: Server, seed: int
) -> None:
    chance = random.Random(seed)
    scripts = [(silence(),), (head(), text("a"), silence()), (head(), text("a"), finish("stop"), done()), (reset(),)]
    matrix.provider.answer_with(lambda _: chance.choice(scripts))
    await asyncio.gather(*(comes_and_goes(wide_server, chance) for _ in range(200)))
    matrix.provider.answer_with(lambda _: (silence(),))
    visitors = await filled(matrix, wide_server)
    refused = await matrix.caller("json", wide_server).call(SAY)
    assert " 429 " in refused.head
    for visitor in visitors:
        visitor.close()


async def comes_and_goes(server: Server, chance: random.Random) -> None:
    transport = chance.choice(WIRED)
    pause = chance.choice([0, 0.001, 0.01, 0.05]) * chance.random()
    await asyncio.sleep(0.2 * chance.random())
    if transport == "ws":
        async with connect(f"ws://127.0.0.1:{server.port}/v1/ws", proxy=None) as socket:
            for run in range(3):
                await socket.send(f'{{"type":"run","id":"{run}","function":"say","input":{{"message":"hi"}}}}')
            await asyncio.sleep(pause)
            socket.transport.abort()
        return
    visitor = await visit(transport, server, SAY)
    await asyncio.sleep(pause)
    visitor.leave(chance.choice(ways(transport)))
    visitor.close()


async def filled(matrix: Matrix, server: Server) -> list[Visitor]:
    """As many callers as there are places, each with a run under way: once the server has seen the others leave."""
    async with asyncio.timeout(20):
        while True:
            await matrix.provider.begin()
            matrix.provider.always(silence())
            visitors = [await visit("sse", server, SAY) for _ in range(PLACES)]
            with suppress(TimeoutError, AssertionError):
                for _ in visitors:
                    await matrix.provider.requested(within=0.5)
                return visitors
            for visitor in visitors:
                visitor.close()


async def refused(narrow: Matrix) -> None:
    """Return when the place is taken: a request is not, until its head has been read."""
    async with asyncio.timeout(20):
        while True:
            reply = await narrow.caller("json").call(Call("nobody"))
            if " 429 " in reply.head:
                return


def head_of(transport: str, server: Server) -> bytes:
    """The head of a call, whose body is announced."""
    request = http_caller(transport, server).request(SAY)
    lines = [f"POST {request.url.raw_path.decode()} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


@asynccontextmanager
async def sent(server: Server, request: bytes) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(request)
    try:
        yield reader, writer
    finally:
        writer.close()
