"""A caller that leaves closes the provider's connection within a second, each of fifty times; one that does not read
pauses it, and is dropped when the run's time is over."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import pytest
from grpc import aio

from deltawire.v1 import functions_pb2 as pb
from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.transports.grpc_port.caller import Stream, Wire, functions, reason, said
from tests.upstream import head, repeat, role, silence, text

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("fresh")]

ROUNDS = 50
FLOODS = (head(), repeat(text("x" * 60_000)))


@pytest.mark.parametrize("way", ["cancel", "close", "reset"])
@pytest.mark.parametrize("moment", ["unanswered", "before the first token", "within the stream", "invoke"])
async def test_callers_that_leave_close_the_providers_connections(
    server: Server, provider: Provider, moment: str, way: str
) -> None:
    match moment:
        case "unanswered":
            provider.always(silence())
        case "before the first token":
            provider.always(head(), role(), silence())
        case _:
            provider.always(head(), text("Hel"), silence())
    async with AsyncExitStack() as open_:
        wire = await open_.enter_async_context(Wire(server.grpc_port))
        stubs = [await open_.enter_async_context(functions(wire.port)) for _ in range(ROUNDS)]
        calls = [stub.invoke(said()) if moment == "invoke" else stub.stream(said()) for stub in stubs]
        waiting = [asyncio.ensure_future(_first(call, moment)) for call in calls]
        exchanges = [await provider.requested() for _ in calls]
        if moment == "within the stream":
            await asyncio.gather(*waiting)
        if way == "cancel":
            for call in calls:
                call.cancel()
        else:
            wire.tear(way)
        for exchange in exchanges:
            await exchange.client_left(within=1.0)
        await asyncio.gather(*waiting, return_exceptions=True)
    assert [line["outcome"] for line in await server.logged(ROUNDS)] == ["canceled"] * ROUNDS


async def _first(call: "Stream | aio.UnaryUnaryCall[pb.RunRequest, pb.Finished]", moment: str) -> None:
    """Read until there is content."""
    if moment == "invoke":
        await call.code()
        return
    assert not isinstance(call, aio.UnaryUnaryCall)
    async for event in call:
        if event.text:
            return


async def test_a_caller_that_reads_nothing_pauses_the_provider_and_costs_no_memory(
    server: Server, provider: Provider
) -> None:
    provider.always(*FLOODS)
    async with functions(server.grpc_port) as stub:
        before = _resident(server)
        calls = [stub.stream(said()) for _ in range(10)]
        exchanges = [await provider.requested() for _ in calls]
        await asyncio.gather(*(exchange.stands_still() for exchange in exchanges))
        assert max(exchange.sent for exchange in exchanges) < 20_000_000
        sent, resident = [exchange.sent for exchange in exchanges], _resident(server)
        await asyncio.sleep(1)  # it is time that is the subject here
        assert [exchange.sent for exchange in exchanges] == sent
        assert _resident(server) - resident < 1_000_000
        assert resident - before < len(calls) * 3_000_000
        for call in calls:
            call.cancel()
        for exchange in exchanges:
            await exchange.client_left()
    assert {line["outcome"] for line in await server.logged(len(calls))} == {"canceled"}


async def test_a_caller_that_reads_nothing_is_dropped_when_the_runs_time_is_over(
    server: Server, provider: Provider
) -> None:
    provider.always(*FLOODS)
    async with functions(server.grpc_port) as stub:
        call = stub.stream(said(function="brief"))
        exchange = await provider.requested()
        await exchange.client_left(within=3)
        [line] = await server.logged(1)
        assert line["outcome"] == "total_timeout"
        # Whoever reads after all gets what had been written, and is told why there is no more.
        with pytest.raises(aio.AioRpcError) as failed:
            async for _ in call:
                pass
    assert failed.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert reason(failed.value).reason == "total_timeout"


@pytest.mark.parametrize("way", ["cancel", "deadline"])
async def test_a_caller_that_reads_nothing_and_leaves_is_let_go(server: Server, provider: Provider, way: str) -> None:
    provider.always(*FLOODS)
    async with functions(server.grpc_port) as stub:
        call = stub.stream(said(), timeout=None if way == "cancel" else 2)
        exchange = await provider.requested()
        await exchange.stands_still()
        assert exchange.sent < 20_000_000
        if way == "cancel":
            call.cancel()
        await exchange.client_left(within=1 if way == "cancel" else 3)
    [line] = await server.logged(1)
    assert line["outcome"] == ("canceled" if way == "cancel" else "total_timeout")


def _resident(server: Server) -> int:
    """Bytes of memory that the process has."""
    [line] = [line for line in Path(f"/proc/{server.pid}/status").read_text().splitlines() if "VmRSS" in line]
    return int(line.split()[1]) * 1024
