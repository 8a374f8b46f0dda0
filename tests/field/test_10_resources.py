"""What blocks an event loop, and what leaks."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from itertools import pairwise

import httpx
import pytest

from tests.contract.visitors import visit
from tests.field.log import outcomes
from tests.field.test_09_timeouts import APP
from tests.matrix.answers import answer
from tests.matrix.notation import Call
from tests.matrix.server import Server, serving
from tests.matrix.stage import Matrix
from tests.matrix.transports import GRPC, OVER_HTTP, TRANSPORTS, WHOLE
from tests.transports.rpc import NO_TLS
from tests.transports.sockets import Message, socket
from tests.upstream import Step, body, comment, delay, done, error_reply, finish, head, repeat, silence, text, usage
from tests.upstream import answer as says

pytestmark = pytest.mark.anyio

CALLS = 20
WIRES = [transport for transport in TRANSPORTS if transport != "engine"]


@pytest.fixture(scope="module")
def keeping_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """Keeps connections to its provider, as servers do outside of tests."""
    keeps = {"DELTAWIRE_PROVIDERS__OPENAI__KEEP_ALIVE": "4"}
    with serving(tmp_path_factory.mktemp("keeping"), {**environment, **keeps}, APP) as server:
        yield server


@pytest.fixture
async def keeping(matrix: Matrix, keeping_server: Server) -> AsyncGenerator[Matrix]:
    keeping_server.log.new()
    await matrix.provider.close_idle()
    yield Matrix(matrix.provider, keeping_server, matrix.core, matrix.records)
    await matrix.provider.close_idle()


async def test_rs_01_functions_that_block_hold_up_nobody_else(keeping: Matrix) -> None:
    """Twenty at once, each for half a second, over every wire in turn; meanwhile health is asked, a socket is held
    whose pings want an answer soon, and a stream goes on piece by piece."""
    server = keeping.server
    keeping.provider.answer_with(
        lambda request: [says("Hello")] if request.json["messages"][-1]["content"] != "slow" else SLOW
    )
    loop = asyncio.get_running_loop()
    async with socket(server, ping_interval=0.2, ping_timeout=1) as on:
        await on.run("slow", "slow")
        arrived: list[float] = []
        reading = asyncio.create_task(pieces(on.next, arrived))
        waits: list[float] = []
        asking = asyncio.create_task(healthz(server, waits))
        began = loop.time()
        calls = [keeping.caller(WIRES[number % len(WIRES)]).call(Call("sleeps")) for number in range(CALLS)]
        replies = await asyncio.gather(*calls)
        took = loop.time() - began
        asking.cancel()
        await reading
    for number, reply in enumerate(replies):
        assert answer(WIRES[number % len(WIRES)], reply) == "Hello"
    assert took < CALLS * 0.5 / 2  # they overlap
    assert max(waits) < 0.45  # a loop that is blocked waits for half a second; a busy machine is allowed some
    gaps = [later - earlier for earlier, later in pairwise(arrived)]
    assert max(gaps) < 0.5  # no burst at the end


SLOW: list[Step] = [head(), *[delay(0.1), text("x")] * 12, finish("stop"), done()]


async def pieces(receive: Callable[[], Awaitable[Message]], arrived: list[float]) -> None:
    while (await receive())["type"] != "finished":
        arrived.append(asyncio.get_running_loop().time())


async def healthz(server: Server, waits: list[float]) -> None:
    loop = asyncio.get_running_loop()
    async with httpx.AsyncClient(base_url=server.url, verify=NO_TLS, trust_env=False) as client:
        while True:
            began = loop.time()
            assert (await client.get("/healthz")).status_code == 200
            waits.append(loop.time() - began)
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("way", ["close", "cancel"])
async def test_rs_01_a_caller_who_leaves_while_a_function_blocks_waits_for_nobody(keeping: Matrix, way: str) -> None:
    transport = "sse" if way == "close" else "grpc"
    loop = asyncio.get_running_loop()
    began = loop.time()
    visitors = [await visit(transport, keeping.server, Call("sleeps")) for _ in range(CALLS)]
    for visitor in visitors:
        await visitor.has_arrived()
    assert keeping.server.runs_logged() == []
    for visitor in visitors:
        visitor.leave(way)
    assert await outcomes(keeping.server, CALLS) == ["canceled"] * CALLS
    assert loop.time() - began < 5
    assert keeping.provider.exchanges == []
    for visitor in visitors:
        visitor.close()


ROUNDS = 50


async def one_more(on: Matrix) -> None:
    """The next call begins at once, and its connection is one of two at most."""
    on.provider.script(says("Hello"))
    asked = len(on.provider.exchanges)
    loop = asyncio.get_running_loop()
    began = loop.time()
    reply = await on.caller("json").call(Call("say"))
    assert answer("json", reply) == "Hello"
    assert on.provider.exchanges[asked].arrived_at - began < 0.5  # a pool without a slot would be waited for for ever
    assert on.provider.open <= 2


async def test_rs_02_fifty_refusals_hold_no_connection(keeping: Matrix) -> None:
    for number in range(ROUNDS):
        keeping.provider.script(error_reply(429, "slow down"))
        await keeping.caller(WIRES[number % len(WIRES)]).call(Call("say"))
        assert keeping.provider.open <= 2
    assert len(keeping.provider.exchanges) == ROUNDS
    await one_more(keeping)


@pytest.mark.parametrize("floods", [False, True], ids=["waits", "floods"])
async def test_rs_02_fifty_callers_who_leave_hold_no_connection(keeping: Matrix, floods: bool) -> None:
    """While the server waits for its provider, and while it writes to a caller who is gone."""
    streams = [transport for transport in (*OVER_HTTP, *GRPC) if transport not in WHOLE]
    for number in range(ROUNDS):
        more = repeat(text("x" * 60_000)) if floods else silence()
        keeping.provider.script(head(), text("one"), more)
        transport = streams[number % len(streams)]
        visitor = await visit(transport, keeping.server, Call("say"))
        await visitor.has_read(b"one")
        visitor.leave("reset")
        await (await keeping.provider.requested()).client_left(within=1.0)
        visitor.close()
    assert keeping.provider.open == 0
    await one_more(keeping)


async def test_rs_02_fifty_answers_with_bytes_after_their_end_share_one_connection(keeping: Matrix) -> None:
    trailing = (head(), text("Hello"), finish("stop"), usage(9, 2), done(), comment("bye"), body(b"data: late\n\n"))
    accepted = keeping.provider.accepted
    for number in range(ROUNDS):
        keeping.provider.script(*trailing)
        transport = WIRES[number % len(WIRES)]
        assert answer(transport, await keeping.caller(transport).call(Call("say"))) == "Hello"
        await keeping.provider.exchanges[-1].finished()
        assert keeping.provider.open <= 2
    assert keeping.provider.accepted - accepted <= 10  # the next call may begin before the last bytes are drained
    await one_more(keeping)
