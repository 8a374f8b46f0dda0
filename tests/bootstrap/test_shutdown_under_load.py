"""A server that is told to stop while it has hundreds of streams on all transports, and callers who wait for it."""

import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from grpc import StatusCode, aio

from deltawire.v1 import functions_pb2 as pb
from tests.matrix.answers import answer
from tests.matrix.cells import CONTRACT
from tests.matrix.notation import Call
from tests.matrix.provider import Provider
from tests.matrix.reply import Reply
from tests.matrix.server import Server, exit_code, serving
from tests.matrix.stage import Matrix
from tests.matrix.transports import TRANSPORTS
from tests.transports.grpc_port.caller import Functions, channel, reason, said
from tests.transports.sockets import script_by_prompt
from tests.upstream import Gate, Step, delay, done, finish, head, text

pytestmark = pytest.mark.anyio

BUSY = Path(__file__).with_name("busy_app.py")
WIRES = [transport for transport in TRANSPORTS if transport != "engine"]
CUT = [cell for cell in CONTRACT.cells if cell.ends and cell.after and cell.transport != "engine"]
END = (finish("stop"), done())


def started(matrix: Matrix, server: Server, transports: Sequence[str], call: Call) -> list[asyncio.Task[Reply]]:
    return [asyncio.create_task(matrix.caller(transport, server).call(call)) for transport in transports]


async def test_of_hundreds_of_streams_none_is_cut_that_ends_in_time(
    matrix: Matrix, environment: dict[str, str], tmp_path: Path
) -> None:
    """They need three seconds more. Runs that come during the delay are served like any."""
    transports = WIRES * 15
    gate = Gate()
    rest: list[Step] = [*[delay(0.3), text("x")] * 10, *END]
    script_by_prompt(matrix.provider, hi=[head(), text("one"), gate.wait(), *rest])
    times = {"DELTAWIRE_DRAIN_DELAY": "1", "DELTAWIRE_DRAIN_TIMEOUT": "10"}
    with serving(tmp_path, {**environment, **times}) as server:
        calls = started(matrix, server, transports, Call("say"))
        await gate.reached(len(transports))
        os.kill(server.pid, signal.SIGTERM)
        late = started(matrix, server, WIRES, Call("say", input='{"message":"late"}'))
        gate.open()
        replies, others = await asyncio.gather(asyncio.gather(*calls), asyncio.gather(*late))
        assert await exit_code(server.pid, 5) == 0
    assert [answer(*each) for each in zip(transports, replies, strict=True)] == ["one" + "x" * 10] * len(transports)
    assert [answer(*each) for each in zip(WIRES, others, strict=True)] == ["late"] * len(WIRES)


async def test_what_ends_in_time_is_whole_and_the_rest_is_told_why_it_is_cut(
    matrix: Matrix, environment: dict[str, str], tmp_path: Path
) -> None:
    gate, never = Gate(), Gate()
    quick = [*WIRES * 7]
    cut = CUT * 7
    script_by_prompt(
        matrix.provider, hi=[head(), text("Hel"), never.wait()], quick=[head(), text("one"), gate.wait(), *END]
    )
    with serving(tmp_path, {**environment, "DELTAWIRE_DRAIN_TIMEOUT": "3"}) as server:
        calls = started(matrix, server, quick, Call("say", input='{"message":"quick"}'))
        endless = [asyncio.create_task(matrix.caller(cell.transport, server).call(cell.call())) for cell in cut]
        await asyncio.gather(gate.reached(len(quick)), never.reached(len(cut)))
        os.kill(server.pid, signal.SIGTERM)
        gate.open()
        replies, rest = await asyncio.gather(asyncio.gather(*calls), asyncio.gather(*endless))
        assert await exit_code(server.pid, 5) == 0
    assert [answer(*each) for each in zip(quick, replies, strict=True)] == ["one"] * len(quick)
    for cell, reply in zip(cut, rest, strict=True):
        told = replace(reply, head=reply.head.replace("\nconnection: close\n", "\n"))  # the page says it in words
        assert told.written() == told.as_expected(cell.expected, cell.transport), cell.id


async def test_calls_that_wait_in_grpcs_queue_are_told_why_they_are_not_served(
    environment: dict[str, str], provider: Provider, tmp_path: Path
) -> None:
    await provider.begin()
    provider.always(head(), text("yes"), *END)
    with serving(tmp_path, environment, BUSY) as server:
        async with channel(server.grpc_port) as opened:
            calls = [Functions(opened).invoke(said(function="busy"), timeout=20) for _ in range(64)]
            await provider.requested()
            os.kill(server.pid, signal.SIGTERM)
            told = [await what_was_told(call) for call in calls]
        assert await exit_code(server.pid, 3) == 0
    assert set(told) == {"served", "draining"}, told


async def what_was_told(call: "aio.UnaryUnaryCall[pb.RunRequest, pb.Finished]") -> str:
    try:
        await call
    except aio.AioRpcError as error:
        return reason(error).reason if error.code() is StatusCode.UNAVAILABLE else str(error)
    return "served"


READ = [
    ("/v1/functions/say", "accept: text/event-stream"),
    ("/invoke", "accept: */*"),
    ("/v1/chat/completions", "accept: */*"),
    ("/streaming/fastapi/", "accept: */*"),
    ("/deltawire.v1.Functions/Stream", "content-type: application/connect+proto"),
    ("/deltawire.v1.Functions/Invoke", "content-type: application/json"),
    ("/deltawire.v1.Functions/Stream", "content-type: application/grpc-web+proto"),
]
"""Where bodies are read."""


async def test_a_request_that_is_still_being_read_is_told_too(environment: dict[str, str], tmp_path: Path) -> None:
    with serving(tmp_path, {**environment, "DELTAWIRE_DRAIN_TIMEOUT": "0.5"}) as server:
        opened = [await asking(server, path, header) for path, header in READ]
        os.kill(server.pid, signal.SIGTERM)
        async with asyncio.timeout(5):
            replies = [await reader.read() for reader, _ in opened]
        for _, writer in opened:
            writer.close()
        assert await exit_code(server.pid, 3) == 0
        outcomes = [line["outcome"] for line in server.log.new() if line["logger"] == "deltawire.run"]
    for reply in replies:
        assert reply.startswith((b"HTTP/1.1 503 ", b"HTTP/1.1 200 ")), reply  # gRPC-Web and Connect say it inside
        assert b"the server has shut down before the run was over" in reply, reply
    assert outcomes == ["draining"] * len(READ)


async def asking(server: Server, path: str, header: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The head of a request, for whose body the server waits."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    lines = [f"POST {path} HTTP/1.1", "host: localhost", "content-length: 100", header, "expect: 100-continue"]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    async with asyncio.timeout(5):
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    return reader, writer
