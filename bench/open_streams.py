"""``python -m bench.open_streams``: thousands of open streams on one server, each with a token a second, on one wire
after another; each wire with a server of its own.

Exit code 1 says that a promise is broken: a stream was cut or altered, it took more memory than it may, or ``/healthz``
was late.
"""

import argparse
import asyncio
import contextlib
import gc
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import uvloop

from bench.cpu import two_cores
from bench.crowd import Crowd, hold
from bench.drain import ended
from bench.pace import Pace
from bench.process import ServerError, ServerProcess
from bench.servers import CONNECT, GRPC, GRPC_WEB, NDJSON, SSE, WEBSOCKET, AnyServer, whole
from bench.upstream import PacedUpstream
from deltawire.bootstrap.open_files import allow_open_files

WIRES: tuple[AnyServer, ...] = (SSE, NDJSON, WEBSOCKET, CONNECT, GRPC_WEB, GRPC)
MOST_BYTES = 32 * 1024
"""Of the server's memory for each open stream of server-sent events."""
LONGEST_HEALTHZ = 0.1
"""Seconds, for 99 of 100 questions."""
MOST_DISTURBANCE = 0.1
"""Of the time that the server waited for its core. Beyond it, what comes late says nothing of the server."""


def main() -> int:
    options = _options()
    cores = two_cores()
    os.sched_setaffinity(0, {cores[1]})
    gc.disable()  # the callers keep what they read; a collection would only make them late
    allow_open_files(options.streams)  # a caller's end and an upstream's, as the server has them
    pace = Pace(options.streams, 1, options.window)
    chosen = tuple(wire for wire in WIRES if not options.only or wire.name in options.only)
    return uvloop.run(_run(chosen, pace, cores, timed=not _is_short()))  # nobody's change fails because of its machine


def _options() -> argparse.Namespace:
    short = _is_short()
    parser = argparse.ArgumentParser(prog="python -m bench.open_streams", description="Many streams open at once.")
    names = [wire.name for wire in WIRES]
    parser.add_argument("--only", action="append", choices=names, help="this wire alone; may be repeated")
    parser.add_argument("--window", type=float, default=10.0 if short else 60.0, help="seconds that all stay open")
    parser.add_argument("--streams", type=int, default=300 if short else 4000)
    options = parser.parse_args()
    if not (1 <= options.window <= 600 and 1 <= options.streams <= 10_000):
        parser.error("1 to 600 seconds, 1 to 10,000 streams")
    return options


def _is_short() -> bool:
    return os.environ.get("SHORT", "") not in ("", "0")


async def _run(wires: Sequence[AnyServer], pace: Pace, cores: tuple[int, int], *, timed: bool) -> int:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    print(f"{pace}, for {pace.window:g} s: server on core {cores[0]}, upstream and callers on core {cores[1]}")
    print(f"{'':12} {'KiB each':>9} {'pace':>5} {'opened':>8} {'closed':>8}   /healthz p50 / p99 / longest", flush=True)
    broken: list[str] = []
    with tempfile.TemporaryDirectory(prefix="deltawire-open-streams-") as folder:
        for wire in wires:
            crowd = await held(wire, Path(folder) / wire.name, pace, cores[0])
            print(row(wire.name, crowd), flush=True)
            broken += promises_broken(wire.name, crowd, timed=timed)
        if wires == WIRES:
            fault = await ended(wires, Path(folder) / "ended", pace, cores[0])
            print(f"  told to stop with streams open on all of them: {fault or 'all came whole, exit code 0'}")
            broken += [] if fault is None else [f"told to stop: {fault}"]
    for line in broken:
        print(f"broken: {line}")
    return int(bool(broken))


async def held(wire: AnyServer, folder: Path, pace: Pace, core: int) -> Crowd:
    async with PacedUpstream(pace.streams, pace.rate) as upstream:
        process = ServerProcess(whole(wire, pace.streams), folder, upstream.port, core)
        try:
            await process.ready()
            await process.ready(process.grpc_port)
            return await hold(process, upstream, pace)
        except ServerError as error:
            return Crowd(str(error))
        finally:
            process.stop()


def row(name: str, crowd: Crowd) -> str:
    if crowd.fault is not None:
        return f"  {name:<10} FAILED: {crowd.fault}"
    times = f"{crowd.opening:6.1f} s {crowd.closing:6.1f} s"
    line = f"  {name:<10} {crowd.bytes_each / 1024:9.1f} {crowd.pace_kept:5.0%} {times}   {crowd.latency}"
    if crowd.disturbance > MOST_DISTURBANCE:
        line += f"   (times void: the server waited {crowd.disturbance:.0%} of the time for its core)"
    return line


def promises_broken(name: str, crowd: Crowd, *, timed: bool = True) -> list[str]:
    """In words, for each one; those of times only where they are ``timed``."""
    if crowd.fault is not None:
        return [f"{name}: {crowd.fault}"]
    found: list[str] = []
    if name == SSE.name and crowd.bytes_each > MOST_BYTES:
        found.append(f"{name}: {crowd.bytes_each / 1024:.1f} KiB for each stream; at most {MOST_BYTES // 1024}")
    if crowd.disturbance > MOST_DISTURBANCE or not timed:
        return found
    if crowd.pace_kept < 0.98:
        found.append(f"{name}: {crowd.pace_kept:.0%} of the tokens that were due came in time")
    if crowd.latency is None or crowd.latency.failed or crowd.latency.p99 >= LONGEST_HEALTHZ:
        found.append(f"{name}: /healthz took {crowd.latency}; at most {LONGEST_HEALTHZ * 1000:g} ms for 99 of 100")
    return found


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(main())
    sys.exit(130)
