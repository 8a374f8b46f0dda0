"""Requests that come too slowly, on the shipped server: how long they may take is a setting."""

import asyncio
from collections.abc import Generator
from contextlib import suppress

import pytest

from tests.matrix.notation import Call
from tests.matrix.server import Server, serving
from tests.matrix.stage import http_caller
from tests.matrix.transports import OVER_HTTP

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def strict_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    limits = {
        "DELTAWIRE_HTTP__HEADER_TIMEOUT": "0.3",
        "DELTAWIRE_HTTP__BODY_TIMEOUT": "0.3",
        "DELTAWIRE_GRPC__HANDSHAKE_TIMEOUT": "0.3",
    }
    with serving(tmp_path_factory.mktemp("strict"), {**environment, **limits}) as server:
        yield server


async def _drip(writer: asyncio.StreamWriter, byte: bytes) -> None:
    with suppress(OSError):
        while True:
            writer.write(byte)
            await writer.drain()
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("transport", OVER_HTTP)
async def test_a_body_that_drips_wins_no_time(strict_server: Server, transport: str) -> None:
    strict_server.log.new()
    request = http_caller(transport, strict_server).request(Call("say"))
    reader, writer = await asyncio.open_connection("127.0.0.1", strict_server.port)
    lines = [f"POST {request.url.path} HTTP/1.1", "host: localhost", "content-length: 900"]
    lines.append(f"content-type: {request.headers['content-type']}")
    writer.write("\r\n".join([*lines, "", ""]).encode())
    dripping = asyncio.create_task(_drip(writer, b" "))
    async with asyncio.timeout(5):
        reply = await reader.read()  # closed, because the rest of the body does not come either
    dripping.cancel()
    assert b"the body was not complete within 0.3 s (http.body_timeout)" in reply or b"grpc-status: 4" in reply
    assert [line["outcome"] for line in strict_server.runs_logged()] == ["request_timeout"]
    writer.transport.abort()


@pytest.mark.parametrize("said", [b"", b"PRI * HTTP/2.0\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])
async def test_a_connection_to_grpc_that_becomes_none_is_closed(strict_server: Server, said: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", strict_server.grpc_port)
    writer.write(said)
    async with asyncio.timeout(5):
        with suppress(ConnectionError):
            while await reader.read(1024):
                pass
    writer.transport.abort()
