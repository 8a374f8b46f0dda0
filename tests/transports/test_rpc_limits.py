"""Calls over Connect and gRPC-Web that run into a limit: the caller's deadline, and the patience with one who does not
read."""

import asyncio
from pathlib import Path

import pytest

from deltawire.domain.errors import Code, Reason
from deltawire.v1 import functions_pb2 as pb
from tests.matrix.stage import Matrix
from tests.transports.rpc import (
    HI,
    INVOKE,
    STREAM,
    STREAMS,
    calling,
    connect_failure,
    deadline,
    ended_with,
    enveloped,
    stream_body,
)
from tests.upstream import head, repeat, silence, text

pytestmark = pytest.mark.anyio

each_transport = pytest.mark.parametrize("transport", STREAMS)


@each_transport
async def test_a_deadline_ends_a_stream_before_its_first_content(matrix: Matrix, transport: str) -> None:
    matrix.provider.always(head(), silence())
    async with calling(matrix.server) as rpc:
        response = await rpc.stream(transport, headers=deadline(transport, 300))
        await (await matrix.provider.requested()).client_left(within=1.0)
    messages, failed = ended_with(transport, response)
    assert (messages, failed.code, failed.reason) == ([], Code.deadline_exceeded, Reason.total_timeout)
    assert failed.message == "the run did not end within 0.3 s (limit: total)"


@each_transport
async def test_a_deadline_ends_a_stream_in_the_middle(matrix: Matrix, transport: str) -> None:
    matrix.provider.always(head(), text("Hel"), silence())
    async with calling(matrix.server) as rpc:
        response = await rpc.stream(transport, headers=deadline(transport, 300))
        await (await matrix.provider.requested()).client_left(within=1.0)
    messages, failed = ended_with(transport, response)
    assert (len(messages), failed.code, failed.partial) == (2, Code.deadline_exceeded, True)


async def test_a_deadline_ends_a_unary_call(matrix: Matrix) -> None:
    matrix.provider.always(head(), text("Hel"), silence())
    message = HI.SerializeToString()
    async with calling(matrix.server) as rpc:
        connect = await rpc.post(INVOKE, "application/proto", message, {"connect-timeout-ms": "300"})
        web = await rpc.post(INVOKE, STREAMS["grpc_web"], enveloped(message), {"grpc-timeout": "300m"})
    for _ in range(2):
        await (await matrix.provider.requested()).client_left(within=1.0)
    assert (connect.status_code, web.headers["grpc-status"]) == (504, "4")
    for failed in (connect_failure(connect.json()), ended_with("grpc_web", web)[1]):
        assert (failed.code, failed.reason) == (Code.deadline_exceeded, Reason.total_timeout)


@each_transport
async def test_the_shortest_of_all_limits_counts(matrix: Matrix, transport: str) -> None:
    matrix.provider.always(head(), silence())
    own = pb.RunRequest(function="say", input_json='{"message":"hi"}', timeout=0.2)
    capped = pb.RunRequest(function="brief", input_json='{"message":"hi"}')
    async with calling(matrix.server) as rpc:
        limits = [
            ended_with(transport, await rpc.stream(transport, message, deadline(transport, milliseconds)))[1].message
            for message, milliseconds in ((own, 60_000), (capped, 60_000), (HI, 0))
        ]
    assert limits == [f"the run did not end within {limit} s (limit: total)" for limit in ("0.2", "0.3", "0.001")]


CALLERS = 5
LARGE = 60_000
MEMORY = 4_000_000
"""In bytes, for each: the buffers on the way, which are taken once. A second of the provider would fill a hundred times
as much."""


@pytest.mark.parametrize("transport", ["connect", "grpc_web_text"])
async def test_callers_that_never_read_cost_no_memory_and_are_dropped_when_their_time_is_over(
    matrix: Matrix, transport: str
) -> None:
    matrix.provider.always(head(), repeat(text("x" * LARGE)))
    body = stream_body(transport)
    about = {"host": "localhost", "content-type": STREAMS[transport], "content-length": str(len(body))}
    lines = [f"{name}: {value}" for name, value in {**about, **deadline(transport, 2_000)}.items()]
    request = "\r\n".join([f"POST {STREAM} HTTP/1.1", *lines, "", ""]).encode() + body
    writers: list[asyncio.StreamWriter] = []
    before = resident(matrix)
    for _ in range(CALLERS):
        _, writer = await asyncio.open_connection("127.0.0.1", matrix.server.port, limit=1024)
        writer.write(request)
        writers.append(writer)
    exchanges = [await matrix.provider.requested() for _ in writers]
    await asyncio.gather(*(exchange.stands_still() for exchange in exchanges))
    full = resident(matrix)
    assert full - before < CALLERS * MEMORY
    await asyncio.sleep(0.5)
    assert resident(matrix) - full < LARGE
    for exchange in exchanges:
        await exchange.client_left(within=5)
    assert [line["outcome"] for line in await matrix.server.logged(CALLERS)] == ["total_timeout"] * CALLERS
    for writer in writers:
        writer.transport.abort()


def resident(matrix: Matrix) -> int:
    """The server's memory in bytes."""
    return int(Path(f"/proc/{matrix.server.pid}/statm").read_text().split()[1]) * 4096
