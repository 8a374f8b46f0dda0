"""A server that is told to stop: what it still takes, what it says, and when it is gone."""

import asyncio
import os
import signal
from pathlib import Path

import httpx
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from tests.matrix.answers import answer
from tests.matrix.notation import Call
from tests.matrix.server import Server, exit_code, serving
from tests.matrix.stage import Matrix
from tests.matrix.transports import TRANSPORTS
from tests.transports.grpc_port.caller import Health, channel
from tests.upstream import done, finish, head, text

pytestmark = pytest.mark.anyio

HANDSHAKE = (
    "host: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
WIRES = [transport for transport in TRANSPORTS if transport != "engine"]


async def test_for_the_delay_it_is_not_ready_and_takes_runs_on_every_transport(
    matrix: Matrix, environment: dict[str, str], tmp_path: Path
) -> None:
    matrix.provider.always(head(), text("yes"), finish("stop"), done())
    with serving(tmp_path, {**environment, "DELTAWIRE_DRAIN_DELAY": "3"}) as server:
        os.kill(server.pid, signal.SIGTERM)
        await says_that_it_is_not_ready(server)
        calls = [matrix.caller(transport, server).call(Call("say")) for transport in WIRES]
        replies = await asyncio.gather(*calls)
        assert await exit_code(server.pid, 15) == 0
    for transport, reply in zip(WIRES, replies, strict=True):
        assert answer(transport, reply) == "yes", transport


async def says_that_it_is_not_ready(server: Server) -> None:
    async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client, asyncio.timeout(10):
        while (reply := await client.get("/readyz")).status_code == 200:  # noqa: ASYNC110  (until the signal has come)
            await asyncio.sleep(0.01)
        assert (reply.status_code, reply.json()) == (503, {"status": "draining"})
        assert (await client.get("/healthz")).status_code == 200
    async with channel(server.grpc_port) as to:
        assert (await Health(to).check(HealthCheckRequest())).status == HealthCheckResponse.NOT_SERVING


async def test_a_second_signal_ends_the_delay_too(environment: dict[str, str], tmp_path: Path) -> None:
    with serving(tmp_path, {**environment, "DELTAWIRE_DRAIN_DELAY": "60"}) as server:
        os.kill(server.pid, signal.SIGTERM)
        await says_that_it_is_not_ready(server)
        os.kill(server.pid, signal.SIGTERM)
        assert await exit_code(server.pid, 15) == 0


@pytest.mark.parametrize("path", ["/v1/ws", "/ws"])
async def test_a_websocket_whose_caller_answers_no_close_frame_holds_it_for_a_moment_only(
    environment: dict[str, str], tmp_path: Path, path: str
) -> None:
    with serving(tmp_path, environment) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"GET {path} HTTP/1.1\r\n{HANDSHAKE}".encode())
        async with asyncio.timeout(20):
            assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
            os.kill(server.pid, signal.SIGTERM)
            assert (await reader.readexactly(4))[2:] == (1012).to_bytes(2)
        assert await exit_code(server.pid, 8) == 0
        writer.close()


async def test_an_idle_connection_is_closed_and_does_not_hold_it(environment: dict[str, str], tmp_path: Path) -> None:
    with serving(tmp_path, environment) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        async with asyncio.timeout(20):
            await reader.readuntil(b"}")
            os.kill(server.pid, signal.SIGTERM)
            assert await reader.read() == b""
        assert await exit_code(server.pid, 8) == 0
        writer.close()
