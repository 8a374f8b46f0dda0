"""A caller who goes away, in every window in which providers were seen to go on and to be paid for it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from itertools import cycle

import httpx
import pytest

from tests.contract.visitors import Visitor, visit, ways
from tests.field.log import outcomes
from tests.matrix.answers import events
from tests.matrix.notation import Call
from tests.matrix.provider import Provider
from tests.matrix.stage import Matrix
from tests.matrix.transports import ACCEPT, GRPC, OVER_HTTP, RPC, WHOLE
from tests.test_asgi import in_starlette, served
from tests.transports.sockets import socket
from tests.upstream import Step, head, role, silence, text, usage

pytestmark = pytest.mark.anyio

CALLERS = 4
PATIENT = "patient"
"""A function that would try again."""
WINDOWS: dict[str, Sequence[Step]] = {
    "unanswered": (silence(),),
    "before the first token": (head(), role(), silence()),
    "within the answer": (head(), text("one"), usage(9, 1), text("two"), silence()),
}


@pytest.fixture
async def visitors() -> AsyncGenerator[list[Visitor]]:
    came: list[Visitor] = []
    yield came
    for visitor in came:
        visitor.close()
    await asyncio.sleep(0)  # for the loop to close their sockets


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("transport", [*OVER_HTTP, *GRPC])
async def test_cx_01_a_caller_who_leaves_stops_the_provider_and_no_retry_starts(
    matrix: Matrix, visitors: list[Visitor], transport: str, window: str
) -> None:
    """In each way that a caller has there, by turns."""
    matrix.provider.always(*WINDOWS[window])
    visitors += [await visit(transport, matrix.server, Call(PATIENT)) for _ in range(CALLERS)]
    exchanges = [await matrix.provider.requested() for _ in visitors]
    if window == "within the answer" and transport not in WHOLE:
        for visitor in visitors:
            await visitor.has_read(b"one")
    for visitor, way in zip(visitors, cycle(ways(transport)), strict=False):
        visitor.leave(way)
    for exchange in exchanges:
        await exchange.client_left(within=1.0)
    assert await outcomes(matrix.server, CALLERS) == ["canceled"] * CALLERS
    assert len(matrix.provider.exchanges) == CALLERS


@pytest.mark.parametrize("transport", [*(one for one in OVER_HTTP if one not in WHOLE), "grpc", "ws"])
async def test_cx_01_what_a_left_run_has_cost_is_in_the_log(
    matrix: Matrix, visitors: list[Visitor], transport: str
) -> None:
    matrix.provider.always(head(), usage(9, 1), text("one"), silence())
    if transport == "ws":
        async with socket(matrix.server) as on:
            await on.run("1")
            assert [(await on.next())["type"] for _ in range(2)] == ["started", "text"]
    else:
        visitors.append(await visit(transport, matrix.server, Call("say")))
        await visitors[0].has_read(b"one")
        visitors[0].leave(ways(transport)[0])
    await (await matrix.provider.requested()).client_left()
    (line,) = await matrix.server.logged(1)
    assert (line["outcome"], line["input_tokens"], line["output_tokens"]) == ("canceled", 9, 1)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("way", ["close", "vanish", "cancel"])
async def test_cx_01_a_caller_who_leaves_a_socket_stops_the_provider(matrix: Matrix, window: str, way: str) -> None:
    matrix.provider.always(*WINDOWS[window])
    async with socket(matrix.server) as on:
        for number in range(CALLERS):
            await on.run(f"r{number}", function=PATIENT)
        exchanges = [await matrix.provider.requested() for _ in range(CALLERS)]
        match way:
            case "close":
                await on.connection.close()
            case "vanish":
                on.connection.transport.abort()
            case _:
                for number in range(CALLERS):
                    await on.cancel(f"r{number}")
        for exchange in exchanges:
            await exchange.client_left(within=1.0)
    assert await outcomes(matrix.server, CALLERS) == ["canceled"] * CALLERS
    assert len(matrix.provider.exchanges) == CALLERS


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("transport", RPC)
async def test_cx_01_a_callers_deadline_stops_the_provider(matrix: Matrix, transport: str, window: str) -> None:
    matrix.provider.always(*WINDOWS[window])
    reply = await matrix.caller(transport).call(Call(PATIENT, deadline=1.0))
    assert events(transport, reply)[-1]["code"] == "deadline_exceeded"
    await (await matrix.provider.requested()).client_left(within=1.0)
    assert len(matrix.provider.exchanges) == 1


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("transport", ACCEPT)
async def test_cx_01_middleware_that_hides_a_disconnect_does_not_hide_it_from_us(
    matrix: Matrix, provider: Provider, transport: str, window: str
) -> None:
    """Behind Starlette's ``BaseHTTPMiddleware``, which passes replies on through a task and a queue of its own."""
    del matrix  # has set the environment
    provider.always(*WINDOWS[window])
    async with served(in_starlette()) as client:
        begun = asyncio.Event()
        calling = asyncio.create_task(post(client, ACCEPT[transport], begun))
        exchange = await provider.requested()
        if window == "within the answer" and transport != "json":
            await asyncio.wait_for(begun.wait(), 20)
        calling.cancel()
        await exchange.client_left(within=1.0)
        await asyncio.wait([calling])


async def post(client: httpx.AsyncClient, media: str, begun: asyncio.Event) -> None:
    body, headers = {"input": {"message": "hi"}}, {"accept": media}
    async with client.stream("POST", "/llm/v1/functions/patient", json=body, headers=headers) as response:
        async for part in response.aiter_bytes():
            if b"one" in part:
                begun.set()
