"""``python -m bench``: measures what servers cost between one upstream and many callers, and prints one table.

Exit code 1 says that a server failed or lost tokens, where it is not one of others (that is told in the table alone); a
missed target is printed and is no failure: the machine may be busy.
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
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import uvloop

from bench import imports
from bench.cpu import two_cores
from bench.form import FULL, SHORT, Form
from bench.machine import this_machine
from bench.results import MEASUREMENTS, Results
from bench.run import Run
from bench.servers import SERVERS, AnyServer
from bench.table import table
from bench.targets import verdicts
from deltawire.bootstrap.open_files import allow_open_files


def main() -> int:
    options = _options()
    form: Form = options.form
    cores = two_cores()
    machine = this_machine()
    os.sched_setaffinity(0, {cores[1]})
    gc.disable()  # the callers keep what they read; a collection would only make them late
    allow_open_files(form.open_streams)  # a caller's end and an upstream's, as the server has them
    chosen = [server for server in SERVERS if not options.only or server.name in options.only]
    measurements = [name for name in MEASUREMENTS if not options.measure or name in options.measure]
    results = Results(
        machine,
        versions={},
        rounds=form.rounds,
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
        short=form.short,
        open_streams=form.open_streams,
    )
    uvloop.run(_run(form, results, chosen, measurements, cores))
    results.verdicts = verdicts(results)
    if imports.NAME in (options.measure or ([] if options.only else [imports.NAME])):
        results.imports = asyncio.run(imports.measure(form.rounds, cores[0]))
        results.verdicts += imports.verdicts(results.imports)
    for line in [*table(results), *imports.lines(results.imports), *results.verdicts]:
        print(line)
    if options.json is not None:
        results.write(options.json)
    return int(has_failed(results))


def has_failed(results: Results) -> bool:
    """Whether something of ours did, or what it is measured beside."""
    of_others = {server.name for server in SERVERS if server.of_others}
    servers = [figures for name, figures in results.servers.items() if name not in of_others]
    found = [*results.imports.values(), *(figures for of in servers for figures in of.values())]
    return any(figure.fault is not None for figures in found for figure in figures)


def _options() -> argparse.Namespace:
    form = SHORT if os.environ.get("SHORT", "") not in ("", "0") else FULL
    parser = argparse.ArgumentParser(prog="python -m bench", description="What servers cost, in one table.")
    names = [server.name for server in SERVERS]
    parser.add_argument("--only", action="append", choices=names, help="measure this server; may be repeated")
    parser.add_argument(
        "--measure", action="append", choices=[*MEASUREMENTS, imports.NAME], help="only this; may be repeated"
    )
    parser.add_argument("--rounds", type=int, default=form.rounds)
    parser.add_argument("--open-streams", type=int, default=form.open_streams, help="at which memory is measured")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found")
    options = parser.parse_args()
    if not (1 <= options.rounds <= 20 and 20 <= options.open_streams <= 10_000):
        parser.error("1 to 20 rounds, 20 to 10,000 open streams")
    options.form = replace(form, rounds=options.rounds, open_streams=options.open_streams)
    return options


async def _run(
    form: Form, results: Results, servers: Sequence[AnyServer], measurements: Sequence[str], cores: tuple[int, int]
) -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    print(f"server on core {cores[0]}, upstream and callers on core {cores[1]}", flush=True)
    print(f"paced: {form.pace}; bursts: {form.bursts}; one-token: {form.one_token}", flush=True)
    print(f"starts: {form.starts} at once, {form.waves} times a round; memory: {form.open_streams} streams", flush=True)
    with tempfile.TemporaryDirectory(prefix="deltawire-bench-") as folder:
        await Run(form, results, Path(folder), cores[0]).all(servers, measurements)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(main())
    sys.exit(130)
