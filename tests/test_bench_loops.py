"""The benchmark's callers check every answer, and a run measures what it was asked to."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench.closed_loop import ClosedLoop
from bench.cpu import tree_seconds
from bench.form import Form
from bench.looped import Loop
from bench.meter import Spent
from bench.pace import Pace
from bench.paced import Held, at_held_rate, busy_core
from bench.process import ServerProcess
from bench.results import Figure, Machine, Results
from bench.run import Run, said
from bench.servers import BARE_GRPC, GRPC, INVOKE, JSON, NGINX, SSE, WEBSOCKET, AnyServer
from bench.starts import measure as measure_starts
from bench.tokens import token
from bench.upstream import PacedUpstream

pytestmark = pytest.mark.anyio

CORE = min(os.sched_getaffinity(0))
TINY = Form(
    short=True,
    rounds=2,
    pace=Pace(streams=4, rate=20, window=0.5),
    bursts=Loop(callers=2, tokens=30, rest=0.01, window=0.3),
    one_token=Loop(callers=2, tokens=1, rest=0.01, window=0.3),
    starts=5,
    waves=2,
    open_streams=20,
    held=0.1,
    memory_of=None,
)


class Answering(asyncio.Protocol):
    """Answers each request with the next of some bodies, and then with the last again."""

    def __init__(self, *bodies: bytes) -> None:
        self._bodies = list(bodies)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:  # noqa: ARG002 (the name is the base class's)
        assert isinstance(self._transport, asyncio.Transport)
        body = self._bodies.pop(0) if len(self._bodies) > 1 else self._bodies[0]
        if body:
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        else:
            self._transport.close()


def document(*numbers: int) -> bytes:
    return b'{"text":"%b"}' % "".join(map(token, numbers)).replace("\n", "\\n").replace('"', '\\"').encode()


async def fault_of(*bodies: bytes, tokens: int) -> str | None:
    listening = await asyncio.get_running_loop().create_server(lambda: Answering(*bodies), "127.0.0.1", 0)
    async with listening:
        loop: ClosedLoop = INVOKE.call.loop(listening.sockets[0].getsockname()[1], 1, 0)
        await loop.open(len(bodies), 30)
        await loop.close()
        loop.leave()
    return loop.fault(tokens)


async def test_every_answer_of_a_closed_loop_is_checked() -> None:
    good = document(0, 1, 2)
    assert await fault_of(good, good, tokens=3) is None
    assert await fault_of(good, document(0, 1), tokens=3) == "1 tokens of an answer lost"
    assert await fault_of(good, document(0, 2, 1), tokens=3) == "an answer whose text is not what was sent"
    assert await fault_of(good, b"", tokens=3) == "a connection was lost: the server closed it"


@pytest.mark.parametrize("server", [NGINX, SSE, WEBSOCKET, GRPC, BARE_GRPC, JSON, INVOKE], ids=lambda each: each.name)
async def test_a_run_measures_what_a_row_has(server: AnyServer, tmp_path: Path) -> None:
    if missing := server.missing():
        pytest.skip(missing)
    results = Results(Machine("", 0, 0, "", ""), versions={}, rounds=2, date="")
    await Run(TINY, results, tmp_path, CORE).all([server], ["paced", "bursts", "one-token", "starts"])
    measured = results.servers[server.name]
    assert [figure.fault for figures in measured.values() for figure in figures] == [None] * 2 * len(measured)
    values = {measurement: set(figures[0].values) for measurement, figures in measured.items()}
    whole_answers = {"bursts": {"micros", "tokens_a_second"}, "one-token": {"micros", "p50", "p99"}}
    streams = {
        "paced": {"micros", "wire_bytes", "pace_kept", "together", "rate"},
        "starts": {"micros", "p50", "p99"},
    }
    assert values == (whole_answers if server.in_one_piece else whole_answers | streams)
    assert all(figures[0].values["micros"] > 0 for figures in measured.values())


async def test_memory_is_measured_of_each_server_alone(tmp_path: Path) -> None:
    results = Results(Machine("", 0, 0, "", ""), versions={}, rounds=1, date="")
    await Run(TINY, results, tmp_path, CORE).all([SSE, JSON, BARE_GRPC], ["memory"])
    assert list(results.servers) == ["sse"]
    (figure,) = results.figures("sse", "memory")
    assert (figure.fault, set(figure.values)) == (None, {"kib", "opening"})


async def test_a_pace_that_is_missed_is_halved_until_it_is_held() -> None:
    done: list[float | str] = []

    async def once(rate: float) -> Figure:
        done.append(rate)
        return Figure({"micros": 1.0}, saturated=rate > 15)

    async def restart() -> None:
        done.append("anew")

    held = Held(50)
    figure = await at_held_rate(once, restart, 50, held)
    assert (done, figure.values["rate"], figure.saturated) == ([50, "anew", 25, "anew", 12.5], 12.5, True)
    assert said("paced", figure) == "1.0 µs; saturated, at 12.5 tokens a second"
    await at_held_rate(once, restart, 50, held)
    assert done[5:] == [12.5]

    async def void(rate: float) -> Figure:
        done.append(rate)
        return Figure(void="busy", saturated=True)

    assert (await at_held_rate(void, restart, 50, Held(50))).void == "busy"
    assert done[6:] == [50]


def test_a_pace_that_is_missed_since_others_had_the_core_is_void() -> None:
    def said_of(cpu: float, disturbance: float) -> str | None:
        return busy_core(Spent(1.0, cpu, 0.1, 0.0, disturbance))

    assert said_of(0.5, 0.5) == "others had the server's core: it waited 50% of the time"
    assert said_of(0.95, 0.5) is None  # it had the core, and it was not enough
    assert said_of(0.1, 0.0) is None  # it slept


async def test_a_start_without_an_answer_is_a_fault(tmp_path: Path) -> None:
    async with PacedUpstream(1, 1) as upstream:
        process = ServerProcess(SSE, tmp_path / "it", 1, CORE)  # nobody is its upstream
        try:
            await process.ready()
            figure = await measure_starts(SSE, process, upstream, 3, 1)
        finally:
            process.stop()
    assert "a reply with status 50" in (figure.fault or "")


def test_cpu_time_is_that_of_the_process_and_of_its_children() -> None:
    used = "import time\nwhile time.process_time() < 0.1: pass\n"
    child = "import subprocess, sys\n" + used + f"subprocess.run([sys.executable, '-c', {used!r}])\ninput()"
    with subprocess.Popen([sys.executable, "-c", child], stdin=subprocess.PIPE) as process:
        until = time.monotonic() + 30
        while tree_seconds(process.pid) < 0.17 and time.monotonic() < until:
            pass
        seconds = tree_seconds(process.pid)
        process.communicate(b"\n")
    assert 0.17 <= seconds < 1
