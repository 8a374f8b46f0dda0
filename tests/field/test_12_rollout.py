"""Failures met when a server is replaced, and when it has several processes."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import grpc
import httpx
import pytest
from grpc import aio
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from tests.field.test_09_timeouts import APP
from tests.matrix.answers import answer, events
from tests.matrix.notation import Call
from tests.matrix.provider import Provider
from tests.matrix.server import Server, clean_environment, exit_code, serving
from tests.matrix.stage import Matrix
from tests.matrix.transports import EVENTFUL, TRANSPORTS
from tests.transports.grpc_port.caller import Functions, Health, channel, said
from tests.transports.rpc import NO_TLS
from tests.transports.sockets import script_by_prompt
from tests.upstream import Gate, Step, delay, done, finish, head, silence, text
from tests.waits import LONGEST, seconds

pytestmark = pytest.mark.anyio

WIRES = [transport for transport in TRANSPORTS if transport != "engine"]
STREAMS = [transport for transport in EVENTFUL if transport != "engine"]


async def test_dp_01_answers_that_end_in_time_are_whole_on_every_transport_and_the_server_goes(
    matrix: Matrix, environment: dict[str, str], tmp_path: Path
) -> None:
    gate = Gate()
    rest: list[Step] = [*[delay(0.3), text("x")] * 5, finish("stop"), done()]
    matrix.provider.always(head(), text("one"), gate.wait(), *rest)
    with serving(tmp_path, environment) as server:
        async with channel(server.grpc_port) as opened:
            health = aiter(Health(opened).watch(HealthCheckRequest()))
            assert (await anext(health)).status == HealthCheckResponse.SERVING
            calls = [asyncio.create_task(matrix.caller(transport, server).call(Call("say"))) for transport in WIRES]
            await gate.reached(len(WIRES))
            os.kill(server.pid, signal.SIGTERM)
            async with asyncio.timeout(10):
                assert (await anext(health)).status == HealthCheckResponse.NOT_SERVING
            gate.open()
            replies = await asyncio.gather(*calls)
        assert await exit_code(server.pid, 15) == 0
    for transport, reply in zip(WIRES, replies, strict=True):
        assert answer(transport, reply) == "onexxxxx", transport


async def test_dp_01_new_calls_are_refused_cleanly(matrix: Matrix, environment: dict[str, str], tmp_path: Path) -> None:
    gate = Gate()
    matrix.provider.always(head(), text("one"), gate.wait(), finish("stop"), done())
    with serving(tmp_path, environment) as server:
        async with channel(server.grpc_port) as opened:
            call = Functions(opened).stream(said())
            await gate.reached()
            os.kill(server.pid, signal.SIGTERM)
            async with asyncio.timeout(20):
                while await is_ready(server):  # noqa: ASYNC110 - asking is the subject
                    await asyncio.sleep(0.02)
            with pytest.raises(aio.AioRpcError) as refused:
                await Functions(opened).invoke(said(), timeout=5)
            assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
            gate.open()
            assert [event.WhichOneof("event") async for event in call] == ["started", "text", "finished"]
        assert await exit_code(server.pid, 15) == 0
    assert len(matrix.provider.exchanges) == 1


async def is_ready(server: Server) -> bool:
    """As an orchestrator asks."""
    async with httpx.AsyncClient(base_url=server.url, verify=NO_TLS, trust_env=False) as client:
        try:
            return (await client.get("/readyz")).status_code == 200
        except httpx.TransportError:
            return False


async def test_dp_01_an_endless_answer_is_told_why_it_ends(
    matrix: Matrix, environment: dict[str, str], tmp_path: Path
) -> None:
    drain = {"DELTAWIRE_DRAIN_TIMEOUT": "1"}
    matrix.provider.always(head(), text("one"), silence())
    with serving(tmp_path, {**environment, **drain}) as server:
        calls = [asyncio.create_task(matrix.caller(transport, server).call(Call("say"))) for transport in STREAMS]
        for _ in STREAMS:
            await matrix.provider.requested()
        await asyncio.sleep(0.3)  # until the callers have what was said
        os.kill(server.pid, signal.SIGTERM)
        replies = await asyncio.gather(*calls)
        assert await exit_code(server.pid, 15) == 0
    for transport, reply in zip(STREAMS, replies, strict=True):
        assert [event["type"] for event in events(transport, reply)] == ["started", "text", "error"], transport


FORKED = """
import os
import signal
import socket
import sys

import uvicorn

import deltawire

app = deltawire.asgi(sys.argv[1])  # before the fork, as gunicorn's preload does
listening = socket.socket(fileno=int(sys.argv[2]))
children = []
for _ in range(2):
    child = os.fork()
    if not child:
        uvicorn.run(app, fd=listening.fileno(), log_level="error")
        os._exit(0)
    children.append(child)
signal.signal(signal.SIGTERM, lambda *_: [os.kill(child, signal.SIGTERM) for child in children])
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
"""


@contextmanager
def two_workers(folder: Path, environment: dict[str, str]) -> Generator[str]:
    """The functions of ``patience_app.py`` in two processes that were forked; their URL."""
    program = folder / "forked.py"
    program.write_text(FORKED)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        command = [sys.executable, str(program), str(APP), str(listening.fileno())]
        process = subprocess.Popen(
            command, env={**clean_environment(), **environment}, cwd=folder, pass_fds=[listening.fileno()]
        )
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.mark.waits
async def test_dp_02_an_app_that_was_made_before_the_fork_works_in_every_worker(
    environment: dict[str, str], provider: Provider, tmp_path: Path
) -> None:
    """A hundred calls, each on a connection of its own, while functions block and streams go on beside them. The worker
    that the first of them meets stands still for the second half, which the other one has to take."""
    await provider.begin()
    script_by_prompt(provider, slow=[head(), *[delay(seconds(1, 0.1)), text("x")] * 20, finish("stop"), done()])
    with two_workers(tmp_path, environment) as url:
        streams = [asyncio.create_task(call(url, "say", "slow")) for _ in range(5)]
        blocked = [asyncio.create_task(call(url, "sleeps", "hi")) for _ in range(5)]
        for _ in streams:
            await provider.requested()
        (first, *_) = await asyncio.gather(*(call(url, "process", "hi") for _ in range(50)))
        worker = int(first.removeprefix("hi "))
        os.kill(worker, signal.SIGSTOP)
        try:
            others = set(await asyncio.gather(*(call(url, "process", "hi") for _ in range(50))))
        finally:
            os.kill(worker, signal.SIGCONT)
        assert len(others) == 1
        assert first not in others
        assert await asyncio.gather(*blocked) == ["hi"] * 5
        assert await asyncio.gather(*streams) == ["x" * 20] * 5


async def call(url: str, function: str, message: str) -> str:
    async with httpx.AsyncClient(verify=NO_TLS, trust_env=False, timeout=LONGEST) as client:
        body = {"input": {"message": message}}
        reply = await client.post(f"{url}/v1/functions/{function}", json=body, headers={"accept": "text/plain"})
        assert reply.status_code == 200
        return reply.text
