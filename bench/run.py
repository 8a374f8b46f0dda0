"""Runs the chosen measurements over the chosen servers, in turns (A B A B …), and keeps what they found.

The servers stand idle beside each other, but for memory, where each runs alone. Rows that differ in their callers alone
are one server.
"""

import contextlib
import functools
import itertools
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

from bench import held, looped, paced, starts
from bench.form import Form
from bench.process import ServerError, ServerProcess
from bench.results import MEASUREMENTS, METRICS, Figure, Results
from bench.servers import AnyServer
from bench.upstream import PacedUpstream

_OF_TOKENS = ("paced", "starts", "memory")
"""Which say nothing of an answer that comes in one piece."""


_Measure = Callable[[AnyServer, ServerProcess, PacedUpstream], Awaitable[Figure]]


class Run:
    def __init__(self, form: Form, results: Results, folder: Path, core: int) -> None:
        self._form = form
        self._results = results
        self._folder = folder
        self._core = core
        self._held: dict[str, paced.Held] = {}
        self._numbers: Iterator[int] = itertools.count()

    async def all(self, servers: Sequence[AnyServer], measurements: Sequence[str]) -> None:
        here = [server for server in servers if self._is_here(server)]
        beside = [measurement for measurement in measurements if measurement != "memory"]
        if beside:
            await self._beside_each_other(here, beside)
        if "memory" in measurements:
            for server in here:
                if self._says_something(server, "memory"):
                    self._note(server, "memory", await self._memory(server), "")

    def _is_here(self, server: AnyServer) -> bool:
        missing = server.missing()
        if missing is not None:
            print(f"  {server.name}: skipped, {missing}")
            self._results.skipped[server.name] = missing
            return False
        self._results.versions[server.name] = server.version()
        if server.about:
            self._results.about[server.name] = server.about
        return True

    async def _beside_each_other(self, servers: Sequence[AnyServer], measurements: Sequence[str]) -> None:
        pace = self._form.pace
        with contextlib.ExitStack() as ending:
            async with PacedUpstream(pace.streams, pace.rate) as upstream:
                processes = self._started(servers, upstream.port, ending)
                good = [server for server in servers if await self._is_ready(server, processes[server.name])]
                for measurement in measurements:
                    measure = self._measure(measurement)
                    for number in range(self._form.rounds):
                        for server in good:
                            if self._says_something(server, measurement):
                                figure = await measure(server, processes[server.name], upstream)
                                self._note(server, measurement, figure, f" {number + 1}")

    def _started(
        self, servers: Sequence[AnyServer], upstream: int, ending: contextlib.ExitStack
    ) -> dict[str, ServerProcess]:
        """By the names of their rows."""
        found: dict[str, ServerProcess] = {}
        for server in servers:
            like = [process for process in found.values() if _is_the_same(process.server, server, upstream)]
            if not like:
                like = [ServerProcess(server, self._new_folder(), upstream, self._core)]
                ending.callback(like[0].stop)
            found[server.name] = like[0]
        return found

    async def _is_ready(self, server: AnyServer, process: ServerProcess) -> bool:
        try:
            await process.ready()
        except ServerError as error:
            self._note(server, "paced", Figure(fault=str(error)), "")
            return False
        return True

    def _measure(self, measurement: str) -> _Measure:
        form = self._form
        match measurement:
            case "paced":
                return self._paced
            case "bursts":
                return functools.partial(looped.measure, asked=form.bursts)
            case "one-token":
                return functools.partial(looped.measure, asked=form.one_token)
            case _:
                return functools.partial(starts.measure, streams=form.starts, waves=form.waves)

    async def _paced(self, server: AnyServer, process: ServerProcess, upstream: PacedUpstream) -> Figure:
        held_so_far = self._held.setdefault(server.name, paced.Held(self._form.pace.rate))
        return await paced.measure(server, process, upstream, self._form.pace, held_so_far)

    async def _memory(self, server: AnyServer) -> Figure:
        form = self._form
        return await held.measure(server, self._new_folder(), form.open_streams, form.held, self._core)

    def _says_something(self, server: AnyServer, measurement: str) -> bool:
        if measurement == "memory":
            chosen = self._form.memory_of
            return not (server.in_one_piece or server.paces_itself) and (chosen is None or server.name in chosen)
        return not (server.in_one_piece and measurement in _OF_TOKENS)

    def _note(self, server: AnyServer, measurement: str, figure: Figure, number: str) -> None:
        self._results.add(server.name, measurement, figure)
        print(f"  {measurement}{number}: {server.name} {said(measurement, figure)}", flush=True)

    def _new_folder(self) -> Path:
        return self._folder / str(next(self._numbers))


def _is_the_same(one: AnyServer, other: AnyServer, upstream: int) -> bool:
    return one.command == other.command and one.environment(upstream) == other.environment(upstream)


def said(measurement: str, figure: Figure) -> str:
    """A figure in a few words."""
    assert measurement in MEASUREMENTS
    values = [
        f"{figure.values[metric.value]:.{metric.digits}f} {metric.unit}"
        for metric in METRICS
        if metric.measurement == measurement and metric.value in figure.values
    ]
    notes = [f"void: {figure.void}"] if figure.void else []
    if figure.saturated:
        notes.append(f"saturated, at {figure.values.get('rate', 0):g} tokens a second")
    return figure.fault or "; ".join([", ".join(values), *notes])
