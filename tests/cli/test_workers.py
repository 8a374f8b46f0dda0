"""``deltawire serve --workers``: one port for all, one local model for all, and a death that costs nobody else."""

import asyncio
import json
import os
import signal
import socket
import sys
import time
from asyncio.subprocess import PIPE
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.cli.apps import shop
from tests.cli.command import Server, calling, deltawire, ending, environment, free_port, serving, until
from tests.cli.streams import WIRES, Call, Ports
from tests.cli.test_reload import alive
from tests.cli.test_serve import ON_UPSTREAM, children
from tests.upstream import Gate, Request, Step, Upstream, done, finish, head, text

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="a port is shared so on Linux")]

AT_ONCE = 2.0
"""Seconds within which a caller must hear of it that what answered it is dead."""
_OFTEN = 60
"""Calls on connections of their own, after which each worker has had one."""

APP = """
import os

from deltawire import function


@function(retries=0, max_tokens=400)
def speak(message: str) -> str:
    return f"{os.getpid()} {message}"
"""


@dataclass(slots=True)
class Workers:
    server: Server
    ports: Ports

    @property
    def pids(self) -> list[int]:
        return children(self.server.process.pid)

    def call(self, wire: str, message: str = "now") -> Call:
        return Call(wire, self.ports, message)

    async def held(self) -> dict[int, list[Call]]:
        """Calls that wait for the upstream's gate, by the worker that runs them: each has one on every wire."""
        found: dict[int, list[Call]] = {pid: [] for pid in self.pids}
        for wire in WIRES:
            seen: set[int] = set()
            for _ in range(_OFTEN):
                call = self.call(wire, "later")
                seen.add(pid := worker_of(await call.begun()))
                found[pid].append(call)
                if seen >= set(found):
                    break
            assert seen >= set(found), wire
        return found

    async def all_serve(self) -> None:
        """Return when each worker of the moment has answered on every wire."""
        for wire in WIRES:
            seen: set[int] = set()
            async with asyncio.timeout(10):
                while not seen >= set(self.pids):
                    seen.add(worker_of(await self.call(wire).begun()))


def worker_of(piece: str) -> int:
    return int(piece.split()[0])


@asynccontextmanager
async def workers(folder: Path, env: dict[str, str], *arguments: str, count: int = 2) -> AsyncGenerator[Workers]:
    file, grpc_port = folder / "app.py", free_port()
    file.write_text(APP)
    told = (str(file), "--workers", str(count), "--grpc-port", str(grpc_port), *arguments)
    async with serving(*told, env=env, cwd=folder) as server:
        yield Workers(server, (server.port, grpc_port))


@asynccontextmanager
async def on_upstream(
    folder: Path, gate: Gate, env: dict[str, str] | None = None, count: int = 2
) -> AsyncGenerator[Workers]:
    """Workers whose model says its prompt, and then waits for the gate where that says ``later``."""

    def play(request: Request) -> Sequence[Step]:
        prompt = request.json["messages"][-1]["content"]
        wait = [gate.wait()] if "later" in prompt else []
        return [head(), text(prompt), *wait, finish("stop"), done()]

    async with Upstream() as upstream:
        upstream.answer_with(play)
        async with workers(folder, calling(upstream) | (env or {}), count=count) as found:
            yield found


async def ends(calls: Sequence[Call]) -> Counter[str]:
    return Counter(await asyncio.gather(*(call.end for call in calls)))


async def test_every_worker_serves_on_both_ports_and_tells_its_pid_in_the_log(tmp_path: Path) -> None:
    async with on_upstream(tmp_path, Gate(), count=3) as found:
        assert len(found.pids) == 3
        await found.all_serve()
        logged: set[int] = set()
        while logged < set(found.pids):
            run = json.loads(await found.server.said("deltawire.run"))
            assert run["outcome"] == "stop"
            logged.add(run["pid"])
        assert await found.server.stopped() == 0


async def test_callers_that_come_at_once_are_divided_among_the_workers(tmp_path: Path) -> None:
    gate = Gate()
    async with on_upstream(tmp_path, gate) as found:
        calls = [found.call("sse", "later") for _ in range(40)]
        each = Counter([worker_of(await call.begun()) for call in calls])
        assert len(each) == 2
        assert min(each.values()) >= 10, each
        gate.open()
        assert await ends(calls) == {"finished": 40}


async def test_a_worker_that_is_killed_breaks_its_own_calls_only_and_is_replaced(tmp_path: Path) -> None:
    gate = Gate()
    async with on_upstream(tmp_path, gate) as found:
        victim, other = held = await found.held()
        os.kill(victim, signal.SIGKILL)
        async with asyncio.timeout(AT_ONCE):
            assert set(await ends(held[victim])) == {"broken"}
            assert [await found.call(wire).end for wire in WIRES] == ["finished"] * len(WIRES)
        told = json.loads(await found.server.said(f"worker {victim}"))
        assert told["message"] == f"worker {victim} ended (killed by SIGKILL); another is started now"
        assert told["pid"] == found.server.process.pid
        await until(lambda: len(found.pids) == 2, within=5)
        assert other in found.pids
        await found.all_serve()
        gate.open()
        assert set(await ends(held[other])) == {"finished"}
        assert await found.server.stopped() == 0


async def test_one_that_dies_again_and_again_is_replaced_after_growing_pauses(tmp_path: Path) -> None:
    async with on_upstream(tmp_path, Gate()) as found:
        other, dying = found.pids
        for pause, when in ((0, "now"), (1, "in 1 s")):
            os.kill(dying, signal.SIGKILL)
            dead_since = time.monotonic()
            assert when in await found.server.said(f"worker {dying} ended")
            assert await found.call("sse").end == "finished"
            await until(lambda: len(found.pids) == 2, within=5)
            assert time.monotonic() - dead_since >= pause
            [dying] = set(found.pids) - {other}
        assert await found.server.stopped() == 0


async def test_a_worker_that_is_told_to_end_plays_its_calls_to_their_end_and_is_replaced(tmp_path: Path) -> None:
    gate = Gate()
    async with on_upstream(tmp_path, gate) as found:
        leaving, _ = held = await found.held()
        os.kill(leaving, signal.SIGTERM)
        await found.server.said("stopping: calls under way")
        gate.open()
        for calls in held.values():
            assert set(await ends(calls)) == {"finished"}
        assert "(exit code 0); another is started now" in await found.server.said(f"worker {leaving} ended")
        assert await found.server.stopped() == 0


async def test_calls_under_way_on_all_workers_are_played_to_their_end_when_all_are_told_to_stop(
    tmp_path: Path,
) -> None:
    """As an init system does, which signals each process of a service: that is no second signal."""
    gate = Gate()
    async with on_upstream(tmp_path, gate) as found:
        held = await found.held()
        found.server.process.send_signal(signal.SIGTERM)
        for _ in held:
            await found.server.said("stopping: calls under way")
        for pid in held:
            os.kill(pid, signal.SIGTERM)
        for port in found.ports:
            await refused(port)
        gate.open()
        for calls in held.values():
            assert set(await ends(calls)) == {"finished"}
        assert await ended(found.server, within=10) == 0


async def refused(port: int) -> None:
    """Return when nobody listens there."""
    async with asyncio.timeout(5):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                return
            writer.close()
            await asyncio.sleep(0.02)


async def ended(server: Server, within: float) -> int | None:
    """Its exit code."""
    async with asyncio.timeout(within):
        await server.process.communicate()
    return server.process.returncode


@pytest.mark.parametrize("second", [True, False], ids=["a second signal", "no more time"])
async def test_what_must_be_cut_is_told_so_and_the_exit_code_is_0(tmp_path: Path, second: bool) -> None:
    drain = 60 if second else 1
    async with on_upstream(tmp_path, Gate(), {"DELTAWIRE_DRAIN_TIMEOUT": str(drain)}) as found:
        held = await found.held()
        began = time.monotonic()
        found.server.process.send_signal(signal.SIGINT)
        for _ in held:
            await found.server.said("stopping: calls under way")
        if second:
            began = time.monotonic()
            found.server.process.send_signal(signal.SIGTERM)
        for calls in held.values():
            assert set(await ends(calls)) == {"draining"}
        assert await ended(found.server, within=10) == 0
        assert time.monotonic() - began < (0 if second else drain) + 5  # busy machines included


async def test_a_delay_is_kept_by_all_workers(tmp_path: Path) -> None:
    async with on_upstream(tmp_path, Gate(), {"DELTAWIRE_DRAIN_DELAY": "2", "DELTAWIRE_DRAIN_TIMEOUT": "1"}) as found:
        began = time.monotonic()
        found.server.process.send_signal(signal.SIGTERM)
        await until_not_ready(found.ports[0])
        await found.all_serve()
        assert await ended(found.server, within=2 + 1 + AT_ONCE) == 0
        assert time.monotonic() - began >= 2


async def until_not_ready(port: int) -> None:
    """Ten connections in a row: each worker has answered."""
    async with asyncio.timeout(AT_ONCE), httpx.AsyncClient(headers={"connection": "close"}, trust_env=False) as client:
        refusals = 0
        while refusals < 10:
            reply = await client.get(f"http://127.0.0.1:{port}/readyz")
            refusals = refusals + 1 if reply.status_code == 503 else 0


ON_LOCAL = {"DELTAWIRE_LOCAL__SLOTS": "4", "DELTAWIRE_LOCAL__CONTEXT": "512"}
STORY = "Tell a very long story, with every detail"


async def test_all_share_one_local_model_whose_death_each_caller_is_told_and_the_next_run_starts_it_again(
    tmp_path: Path,
) -> None:
    async with workers(tmp_path, ON_LOCAL) as found:
        both, used = set(found.pids), set[int]()
        while used < both:
            await found.call("sse", STORY).leave()
            used.add(json.loads(await found.server.said("deltawire.run"))["pid"])
        [model] = set(found.pids) - both
        calls = [found.call(wire, STORY) for wire in WIRES]
        for call in calls:
            await call.begun()
        os.kill(model, signal.SIGKILL)
        async with asyncio.timeout(AT_ONCE):
            assert await ends(calls) == {"upstream_truncated": len(WIRES)}
        assert "killed by SIGKILL" in await found.server.said("local model smollm2 ended")
        for wire in WIRES:
            await found.call(wire, STORY).leave()
        [again] = set(found.pids) - both
        assert again != model
        assert await found.server.stopped() == 0
        assert not any(alive(pid) for pid in (*both, again))


async def test_nothing_is_left_of_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    async with workers(tmp_path, ON_LOCAL) as found:
        call = found.call("ws", STORY)
        await call.begun()
        everybody = found.pids
        assert len(everybody) == 3
        found.server.process.kill()
        await until(lambda: not any(alive(pid) for pid in everybody), within=AT_ONCE)
        assert await call.end == "broken"


PROVIDER = """
import asyncio
import json
import sys


async def play(reader, writer):
    head = await reader.readuntil(b"\\r\\n\\r\\n")
    [length] = [line.split(b":")[1] for line in head.lower().splitlines() if line.startswith(b"content-length")]
    asked = await reader.readexactly(int(length))
    writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\n\\r\\n")
    writer.write(b'data: {"choices":[{"index":0,"delta":{"content":"1"}}]}\\n\\n')
    if b"later" in asked:
        await asyncio.Event().wait()
    writer.write(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\\n\\ndata: [DONE]\\n\\n')
    await writer.drain()
    writer.close()


async def main():
    server = await asyncio.start_server(play, "127.0.0.1", int(sys.argv[1]))
    print("ready", flush=True)
    await server.serve_forever()


asyncio.run(main())
"""


@asynccontextmanager
async def provider(port: int) -> AsyncGenerator[int]:
    """A model's server in a process of its own; its pid."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROVIDER, str(port), env=environment(), stdout=PIPE
    )
    async with ending(process):
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        yield process.pid


async def test_a_provider_that_is_killed_is_told_to_each_caller_and_the_next_run_works(tmp_path: Path) -> None:
    port = free_port()
    env = ON_UPSTREAM | {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
    async with workers(tmp_path, env, count=1) as found:
        async with provider(port) as pid:
            calls = [found.call(wire, "later") for wire in WIRES]
            for call in calls:
                await call.begun()
            os.kill(pid, signal.SIGKILL)
            async with asyncio.timeout(AT_ONCE):
                assert await ends(calls) == {"upstream_truncated": len(WIRES)}
        async with provider(port):
            assert [await found.call(wire).end for wire in WIRES] == ["finished"] * len(WIRES)
        assert await found.server.stopped() == 0


async def test_an_app_that_cannot_work_is_one_line_as_with_one_process(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text("def f(:\n")
    command = ("serve", "wrong.py", "--workers", "4", "--port", str(free_port()))
    ended = await deltawire(*command, env=ON_UPSTREAM, cwd=tmp_path)
    assert (ended.code, ended.complaint) == (2, f"deltawire: {file}:1: invalid syntax")


async def test_a_first_worker_that_dies_as_it_starts_is_not_tried_again(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("import os\nos.kill(os.getpid(), 9)\n")
    ended = await deltawire("serve", "wrong.py", "--workers", "2", env=ON_UPSTREAM, cwd=tmp_path)
    assert (ended.code, ended.complaint) == (
        128 + 9,
        "deltawire: the first worker ended before it was ready (killed by SIGKILL)",
    )


async def test_a_grpc_port_that_another_server_would_share_is_taken_all_the_same(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        command = ("serve", str(shop(tmp_path)), "--workers", "2", "--port", str(free_port()), "--grpc-port", port)
        ended = await deltawire(*command, env=ON_UPSTREAM, cwd=tmp_path)
    assert ended.code == 2
    assert ended.complaint == (
        f"deltawire: cannot listen on 127.0.0.1:{port}: address already in use; choose another with --grpc-port"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["--workers", "2", "--reload"],
            "--reload serves with one process, and --workers asks for more: leave one of them out",
        ),
        (["--workers", "0"], "--workers: Input should be greater than 0"),
    ],
)
async def test_what_is_asked_wrongly_is_one_line(tmp_path: Path, arguments: list[str], complaint: str) -> None:
    ended = await deltawire("serve", str(shop(tmp_path)), *arguments, env=ON_UPSTREAM, cwd=tmp_path)
    assert (ended.code, ended.complaint) == (2, f"deltawire: {complaint}")
