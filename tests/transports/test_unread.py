"""Callers that take nothing of what is sent to them: they pause the provider, cost little memory, and are given up."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import grpc
import pytest

from tests.contract.visitors import GrpcVisitor, HttpVisitor, visit
from tests.matrix.notation import Call
from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving
from tests.matrix.transports import STREAMS_OVER_HTTP
from tests.transports.sockets import socket
from tests.upstream import done, finish, head, repeat, text

pytestmark = pytest.mark.anyio

PIECE = 62_500
FLOOD = (head(), repeat(text("x" * PIECE), 3_200), finish("stop"), done())
"""200 MB."""
CALLERS = 5
STREAMS = [*STREAMS_OVER_HTTP, "grpc", "ws"]


@pytest.fixture(scope="module")
def impatient_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    limits = {"DELTAWIRE_HTTP__WRITE_TIMEOUT": "0.5", "DELTAWIRE_GRPC__WRITE_TIMEOUT": "0.5"}
    with serving(tmp_path_factory.mktemp("impatient"), {**environment, **limits}) as server:
        yield server


@asynccontextmanager
async def calling(transport: str, server: Server) -> AsyncGenerator[HttpVisitor | GrpcVisitor | None]:
    """A caller that has sent its call, and reads nothing."""
    if transport == "ws":
        async with socket(server, max_queue=1, close_timeout=0.1) as on:
            await on.run("1")
            yield None
        return
    visitor = await visit(transport, server, Call("say"))
    assert isinstance(visitor, HttpVisitor | GrpcVisitor)
    try:
        yield visitor
    finally:
        visitor.close()


@pytest.mark.parametrize("transport", STREAMS)
async def test_a_caller_that_takes_nothing_for_too_long_is_given_up(
    impatient_server: Server, provider: Provider, transport: str
) -> None:
    await provider.begin()
    impatient_server.log.new()
    provider.always(*FLOOD)
    async with calling(transport, impatient_server) as visitor:
        exchange = await provider.requested()
        await exchange.client_left(within=5)
        assert exchange.sent < 30_000_000
        [line] = await _logged(impatient_server)
        assert line["outcome"] == "canceled"
        assert "for 0.5 s (" + ("grpc" if transport == "grpc" else "http") + ".write_timeout)" in line["message"]
        if isinstance(visitor, HttpVisitor):
            await visitor.is_cut()
        elif isinstance(visitor, GrpcVisitor):  # whoever reads after all is told why there is no more
            with pytest.raises(grpc.RpcError):
                await asyncio.to_thread(lambda: [None for _ in visitor.made])
            assert visitor.made.code() is grpc.StatusCode.CANCELLED
            assert "grpc.write_timeout" in visitor.made.details()


@pytest.mark.parametrize("transport", ["sse", "ws", "grpc", "connect"])
async def test_five_callers_that_never_read_200_megabytes_cost_less_than_10_megabytes_each(
    server: Server, provider: Provider, transport: str
) -> None:
    await provider.begin()
    server.log.new()
    provider.always(*FLOOD)
    before = _resident(server)
    async with AsyncExitStack() as open_:
        for _ in range(CALLERS):
            await open_.enter_async_context(calling(transport, server))
        exchanges = [await provider.requested() for _ in range(CALLERS)]
        await asyncio.gather(*(exchange.stands_still() for exchange in exchanges))
        grown = _resident(server) - before
    assert grown < CALLERS * 10_000_000, f"{grown / CALLERS / 1e6:.1f} MB each"
    for exchange in exchanges:
        await exchange.client_left(within=5)


async def _logged(server: Server) -> list[dict[str, str]]:
    async with asyncio.timeout(20):
        while not (lines := server.runs_logged()):  # noqa: ASYNC110 - the server's log sets no event
            await asyncio.sleep(0.01)
    return lines


def _resident(server: Server) -> int:
    """Bytes of memory that the process has."""
    [line] = [line for line in Path(f"/proc/{server.pid}/status").read_text().splitlines() if "VmRSS" in line]
    return int(line.split()[1]) * 1024
