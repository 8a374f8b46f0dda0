"""``python -m bench``: runs the servers in turns (A B A B …), each alone with one upstream and many callers.

Exit code 1 says that a server failed or lost tokens; a missed target is printed and is no failure: the
machine may be busy.
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
from bench.pace import Pace
from bench.paced import Figure, measure
from bench.process import ServerError, ServerProcess
from bench.servers import SERVERS, AnyServer
from bench.table import row
from bench.targets import verdicts
from bench.upstream import PacedUpstream


def main() -> int:
    options = _options()
    cores = two_cores()
    os.sched_setaffinity(0, {cores[1]})
    gc.disable()  # the callers keep what they read; a collection would only make them late
    pace = Pace(options.streams, options.rate, options.window)
    chosen = [server for server in SERVERS if not options.only or server.name in options.only]
    return uvloop.run(_run(chosen, pace, options.rounds, cores))


def _options() -> argparse.Namespace:
    short = os.environ.get("SHORT", "") not in ("", "0")
    parser = argparse.ArgumentParser(prog="python -m bench", description="CPU of the server per token.")
    names = [server.name for server in SERVERS]
    parser.add_argument("--only", action="append", choices=names, help="measure this server alone; may be repeated")
    parser.add_argument("--rounds", type=int, default=1 if short else 5)
    parser.add_argument("--window", type=float, default=2.0 if short else 5.0, help="seconds measured in each round")
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--rate", type=int, default=50, help="tokens a second in each stream")
    options = parser.parse_args()
    if not (1 <= options.rounds <= 20 and 0.5 <= options.window <= 30 and 1 <= options.streams <= 1000):
        parser.error("1 to 20 rounds, 0.5 to 30 seconds, 1 to 1000 streams")
    return options


async def _run(servers: Sequence[AnyServer], pace: Pace, rounds: int, cores: tuple[int, int]) -> int:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    measured: dict[str, list[Figure]] = {}
    with contextlib.ExitStack() as ending:
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="deltawire-bench-")))
        async with PacedUpstream(pace.streams, pace.rate) as upstream:
            print(f"{pace}: server on core {cores[0]}, upstream and callers on core {cores[1]}", flush=True)
            print(
                "".join(f"  {server.name}: {server.about}\n" for server in servers if server.about), end="", flush=True
            )
            processes: list[ServerProcess] = []
            for server in servers:
                process = await _started(server, folder, upstream.port, cores[0], pace, ending, measured)
                processes += [] if process is None else [process]
            for number in range(rounds):
                for process in processes:
                    figure = await measure(process, upstream, pace)
                    measured.setdefault(process.server.name, []).append(figure)
                    print(f"  round {number + 1}: {process.server.name} {figure}", flush=True)
    for name, figures in measured.items():
        print(row(name, figures))
    for line in verdicts(measured):
        print(line)
    return int(any(figure.fault is not None for figures in measured.values() for figure in figures))


async def _started(
    server: AnyServer,
    folder: Path,
    upstream: int,
    core: int,
    pace: Pace,
    ending: contextlib.ExitStack,
    measured: dict[str, list[Figure]],
) -> ServerProcess | None:
    """The running server, to be ended with the stack; None when it is not to be had here or does not start."""
    missing = server.missing()
    if missing is not None:
        print(f"  {server.name}: skipped, {missing}")
        return None
    process = ServerProcess(server, folder / server.name, upstream, core, pace)
    ending.callback(process.stop)
    try:
        await process.ready()
    except ServerError as error:
        measured[server.name] = [Figure(fault=str(error))]
        return None
    return process


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(main())
    sys.exit(130)
