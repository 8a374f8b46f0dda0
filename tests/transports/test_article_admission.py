"""The streaming-chat article's surface on a server with one place for a run."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect

from deltawire.article.stream_pb2 import UserRequest
from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving
from tests.transports.article_app import __file__ as APP
from tests.upstream import answer, silence

pytestmark = pytest.mark.anyio

OVERLOADED = '"reason":"overloaded","message":"the server has as many runs under way as it may have: 1 (max_runs)"'


@pytest.fixture(scope="module")
def narrow_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with serving(tmp_path_factory.mktemp("narrow"), {**environment, "DELTAWIRE_MAX_RUNS": "1"}, Path(APP)) as server:
        yield server


@pytest.fixture(autouse=True)
async def afresh(provider: Provider) -> None:
    await provider.begin()


@asynccontextmanager
async def one_under_way(server: Server, provider: Provider) -> AsyncGenerator[None]:
    provider.script(silence())
    calling = asyncio.create_task(said(server))
    await provider.requested()
    yield
    calling.cancel()
    await asyncio.wait([calling])


async def said(server: Server) -> httpx.Response:
    async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        return await client.post("/streaming/fastapi/", json={"prompt": "hi"})


async def test_over_http_one_more_is_refused(narrow_server: Server, provider: Provider) -> None:
    async with one_under_way(narrow_server, provider):
        refused = await said(narrow_server)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert refused.json()["reason"] == "overloaded"


async def test_on_a_websocket_one_more_is_refused_in_its_turn_and_the_next_prompt_works(
    narrow_server: Server, provider: Provider
) -> None:
    async with connect(f"ws://127.0.0.1:{narrow_server.port}/ws", proxy=None) as socket:
        async with one_under_way(narrow_server, provider):
            await socket.send("hi")
            assert OVERLOADED in str(await socket.recv())
        provider.always(answer("Hello"))
        async with asyncio.timeout(20):
            while OVERLOADED in (came := await asked(socket)):  # until the server has seen the other leave
                pass
        assert came.startswith("data: Hello")
        for _ in range(5):  # one after another, each in the place of the one before
            await socket.send("hi")
        for _ in range(5):
            assert str(await socket.recv()).startswith("data: Hello")
            assert str(await socket.recv()).startswith("event: end")


async def asked(socket: ClientConnection) -> str:
    """What one prompt is answered with, as one stream."""
    await socket.send("hi")
    came = str(await socket.recv())
    while "event: " not in came:
        came += str(await socket.recv())
    return came


async def test_over_grpc_one_more_is_refused(narrow_server: Server, provider: Provider) -> None:
    async with (
        one_under_way(narrow_server, provider),
        grpc.aio.insecure_channel(f"127.0.0.1:{narrow_server.grpc_port}") as channel,
    ):
        untyped: Any = channel  # its stubs leave open what goes in and out
        stream = untyped.unary_stream("/stream.ResponseStreamingService/stream")
        call = stream(UserRequest(prompt="hi").SerializeToString())
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            async for _ in call:
                pass
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
