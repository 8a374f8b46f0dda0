"""A server that is told to end: what is under way gets its time, what is new is refused, and nothing stays behind."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Generator

import grpc
import pytest
from grpc import aio
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from deltawire.transports.grpc.server import GrpcServer
from deltawire.transports.grpc.settings import GrpcSettings
from deltawire.v1 import functions_pb2 as pb
from tests.cli.command import free_port
from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving
from tests.matrix.stage import Matrix
from tests.transports.grpc_port.caller import Functions, Health, channel, said
from tests.transports.grpc_port.frames import GOAWAY, call, frames, room
from tests.upstream import Gate, done, finish, head, silence, text

pytestmark = pytest.mark.anyio

NOT_SERVING = HealthCheckResponse(status=HealthCheckResponse.NOT_SERVING)


@pytest.fixture
async def upstream(provider: Provider) -> Provider:
    await provider.begin()
    return provider


@pytest.fixture
def ending_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with serving(tmp_path_factory.mktemp("ending"), environment) as server:
        yield server


async def _takes_no_more(port: int) -> None:
    """Return when the server does not listen any more: who has called by then is still answered."""
    async with asyncio.timeout(20):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionError:
                return
            writer.close()
            await asyncio.sleep(0.01)


async def test_a_stream_under_way_comes_to_its_end_and_health_says_what_is_going_on(
    ending_server: Server, upstream: Provider
) -> None:
    gate = Gate()
    upstream.script(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), done())
    async with channel(ending_server.grpc_port) as opened, channel(ending_server.grpc_port) as late:
        watched = Health(opened).watch(HealthCheckRequest(service="deltawire.v1.Functions"))
        health = aiter(watched)
        assert (await anext(health)).status == HealthCheckResponse.SERVING
        events = aiter(Functions(opened).stream(said()))
        assert (await anext(events)).HasField("started")
        assert (await anext(events)).text == "Hel"
        os.kill(ending_server.pid, signal.SIGTERM)
        assert await anext(health) == NOT_SERVING
        assert [end async for end in health] == []
        await _takes_no_more(ending_server.grpc_port)
        for stub in (Functions(opened), Functions(late)):  # a channel that is open, and one that is not yet
            with pytest.raises(aio.AioRpcError) as refused:
                await stub.list(pb.ListRequest(), timeout=20)
            assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        gate.open()
        assert [event.WhichOneof("event") async for event in events] == ["text", "finished"]
    await _gone(ending_server)
    assert [line["outcome"] for line in _runs(ending_server)] == ["stop"]


async def test_a_second_signal_ends_the_runs_as_draining_and_closes_the_provider(
    ending_server: Server, upstream: Provider
) -> None:
    upstream.always(head(), text("Hel"), silence())
    async with channel(ending_server.grpc_port) as opened:
        stub = Functions(opened)
        health = aiter(Health(opened).watch(HealthCheckRequest()))
        await anext(health)
        invoked, events = stub.invoke(said()), aiter(stub.stream(said()))
        await anext(events)
        exchanges = [await upstream.requested() for _ in range(2)]
        os.kill(ending_server.pid, signal.SIGTERM)
        assert await anext(health) == NOT_SERVING
        os.kill(ending_server.pid, signal.SIGTERM)
        for exchange in exchanges:
            await exchange.client_left()
        for ending in (asyncio.ensure_future(invoked), asyncio.ensure_future(_read(events))):
            with pytest.raises(aio.AioRpcError) as ended:
                await ending
            assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
    await _gone(ending_server)
    lines = ending_server.log.new()
    assert not [line for line in lines if "trace" in line]
    assert [line["outcome"] for line in lines if line["logger"] == "deltawire.run"] == ["draining"] * 2


async def test_what_does_not_end_in_its_time_is_ended_by_the_server(matrix: Matrix) -> None:
    matrix.provider.script(head(), text("Hel"), silence())
    served = GrpcServer(matrix.core.engine, GrpcSettings(), "say")
    port = free_port()
    await served.start("127.0.0.1", port)
    async with channel(port) as opened:
        events = aiter(Functions(opened).stream(said()))
        await anext(events)
        await served.drain(0.2)
        with pytest.raises(aio.AioRpcError):
            await _read(events)
    [line] = matrix.logged("engine")
    assert (line["outcome"], line["message"]) == ("draining", "the server has shut down before the run was over")


async def test_an_answer_that_is_being_read_is_read_to_its_end(ending_server: Server, upstream: Provider) -> None:
    upstream.script(head(), *[text("x" * 50_000)] * 20, finish("stop"), done())
    async with frames(ending_server.grpc_port) as caller:
        caller.send(call(b"/deltawire.v1.Functions/Invoke", said().SerializeToString()))
        async with asyncio.timeout(20):
            while len(caller.data) < 65_535:  # for more there is no room
                await caller.next()
        os.kill(ending_server.pid, signal.SIGTERM)
        async with asyncio.timeout(20):
            while await caller.next() != GOAWAY:
                pass
        caller.send(room(1_000_000))
        assert b"grpc-status\x010" in await caller.ended()
        assert caller.data.count(b"x") == 1_000_000
    await _gone(ending_server)
    assert not [line for line in ending_server.log.new() if "trace" in line]


@pytest.mark.parametrize("signals", [1, 2])
async def test_an_answer_that_nobody_reads_holds_the_server_for_a_while_only(
    ending_server: Server, upstream: Provider, signals: int
) -> None:
    upstream.script(head(), *[text("x" * 50_000)] * 20, finish("stop"), done())
    async with frames(ending_server.grpc_port) as caller:
        caller.send(call(b"/deltawire.v1.Functions/Invoke", said().SerializeToString()))
        async with asyncio.timeout(20):
            while len(caller.data) < 65_535:
                await caller.next()
        os.kill(ending_server.pid, signal.SIGTERM)
        while await caller.next() != GOAWAY:
            pass
        if signals == 2:
            os.kill(ending_server.pid, signal.SIGTERM)
        else:
            caller.writer.transport.abort()
        await _gone(ending_server)
    assert not [line for line in ending_server.log.new() if "trace" in line]


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
async def test_calls_that_run_nothing_do_not_hold_the_server(ending_server: Server, signum: int) -> None:
    async with channel(ending_server.grpc_port) as opened:
        health = aiter(Health(opened).watch(HealthCheckRequest(service="nobody")))
        assert (await anext(health)).status == HealthCheckResponse.SERVICE_UNKNOWN
        os.kill(ending_server.pid, signum)
        await _gone(ending_server)


async def _read(events: AsyncIterator[pb.Event]) -> None:
    async for _ in events:
        pass


async def _gone(server: Server) -> None:
    """The process has ended: it is a child of ours that nobody has waited for yet."""
    async with asyncio.timeout(20):
        await asyncio.to_thread(os.waitid, os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)


def _runs(server: Server) -> list[dict[str, object]]:
    return [line for line in server.log.new() if line["logger"] == "deltawire.run"]
