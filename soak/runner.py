"""Plays rounds against one server, and counts between them what is left."""

import asyncio
import os
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.matrix.notation import Call
from tests.matrix.server import Server, exit_code

from soak.book import Book, Made
from soak.faults import Card, deck
from soak.gauges import Memory, descriptors, resident
from soak.grpc_caller import GrpcCaller
from soak.http_caller import HttpCaller
from soak.play import Fault, Play, Scene, Seen
from soak.provider import Provider
from soak.verdict import breach
from soak.wires import BY_GRPC
from soak.ws_caller import ArticleWsCaller, WsCaller

HANGS_AFTER = 40.0
"""Seconds; the longest run takes four."""
_SETTLES_WITHIN = 10.0
_STEADY = 10
"""Looks in a row, a twentieth of a second apart, that find the same descriptors."""
_MOST_TOLD = 30


@dataclass(frozen=True, slots=True)
class Rest:
    """What the server held between two rounds."""

    tasks: int
    objects: int
    files: int
    sockets: int


@dataclass(slots=True)
class Tally:
    runs: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """How runs ended for their callers, by wire."""
    faults: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])
    rests: list[Rest] = field(default_factory=list[Rest])
    slowest: tuple[float, str] = (0.0, "")
    """Seconds of the longest run, and which it was."""
    slowest_release: tuple[float, str] = (0.0, "")
    """The longest that a request to the provider has outlived its run, in seconds."""

    def tell(self, problems: list[str]) -> None:
        for problem in problems:
            self.wrong.append(problem)
            if len(self.wrong) <= _MOST_TOLD:
                print(f"WRONG: {problem[:1500]}", flush=True)


class Soak:
    def __init__(self, server: Server, provider: Provider, seed: int, callers: int) -> None:
        self.tally = Tally()
        self.book = Book()
        self.memory = Memory(server.pid)
        self._server = server
        self._provider = provider
        self._seed = seed
        self._callers = callers
        self._http = HttpCaller(server, Random(seed))
        self._grpc = GrpcCaller(server, provider, Random(seed))
        self._ws = WsCaller(server, provider, Random(seed))
        self._article_ws = ArticleWsCaller(server, provider)

    async def play(self, goes_on: Callable[[int], bool]) -> None:
        """Rounds as long as the function, told how many there were, says so."""
        watching = asyncio.create_task(self.memory.watch())
        try:
            number = 0
            while goes_on(number):
                began = time.monotonic()
                await self._round(deck(number, Random(f"{self._seed} {number}")))
                await self._rest()
                number += 1
                rest = self.tally.rests[-1]
                held = f"{resident(self._server.pid) / 1e6:.1f} MB, {rest}"
                print(f"  round {number}: {time.monotonic() - began:.1f} s, {self.tally.runs} runs, {held}", flush=True)
        finally:
            watching.cancel()
            await asyncio.wait([watching])

    async def stop(self) -> None:
        """Nothing is under way: a server that is told to stop has nothing to wait for, unless it has lost count."""
        os.kill(self._server.pid, signal.SIGTERM)
        try:
            code = await exit_code(self._server.pid, _SETTLES_WITHIN)
            self.tally.tell([f"the server ended with {code}"] if code else [])
        except TimeoutError:
            self.tally.tell([f"the server did not end within {_SETTLES_WITHIN:g} s of SIGTERM"])

    async def _round(self, cards: list[Card]) -> None:
        async def callers() -> None:
            while cards:
                await self._run(*cards.pop())

        async with asyncio.TaskGroup() as group:
            for _ in range(self._callers):
                group.create_task(callers())

    async def _run(self, fault: Fault, wire: str) -> None:
        self.tally.runs += 1
        self.tally.faults[fault.name] += 1
        key = f"soak-{self.tally.runs}"
        name = f"{key}, {fault.name} on {wire}"
        play = fault.make(Scene(Random(f"{self._seed} {key}"), key, wire))
        self._provider.expect(key, play)
        began = time.monotonic()
        seen = Seen()
        try:
            async with asyncio.timeout(HANGS_AFTER):
                seen = await self._call(wire, key, play)
            problem = breach(wire, play, seen)
        except TimeoutError:
            problem = f"it hung: no end within {HANGS_AFTER:g} s: {traceback.format_exc()}"
        except Exception:  # noqa: BLE001  (a caller that breaks down is a finding, and the others go on)
            problem = traceback.format_exc()
        self.tally.slowest = max(self.tally.slowest, (time.monotonic() - began, name))
        self.tally.outcomes[wire, _outcome(seen)] += 1
        if problem is not None:
            self.tally.tell([f"{name}: {problem} {seen.raw[:600]}"])
        if play.outcomes:
            told = play.outcomes & frozenset(seen.ends)  # what its caller was told, the log says too
            self.book.note(seen.run_id, Made(name, told or play.outcomes, play.may_not_arrive))
        ended = time.monotonic()
        try:
            await self._provider.forget(key, within=_SETTLES_WITHIN)
        except AssertionError as error:
            self.tally.tell([f"{name}: {error}"])
        self.tally.slowest_release = max(self.tally.slowest_release, (time.monotonic() - ended, name))

    async def _call(self, wire: str, key: str, play: Play) -> Seen:
        match wire:
            case "ws":
                return await self._ws.call(key, play)
            case "article_ws":
                return await self._article_ws.call(key, play)
            case _ if wire in BY_GRPC:
                return await self._grpc.call(wire, key, play)
            case _:
                return await self._http.call(wire, play)

    async def _rest(self) -> None:
        """Nothing is under way, and nothing is kept by us: so it must be in the server."""
        await self._http.close()
        await self._grpc.close()
        await self._ws.close()
        self.tally.tell([f"a message that nobody waits for: {stray}" for stray in self._ws.strays])
        self._ws.strays.clear()
        await self._until(lambda: self._read_log() or (self.book.missing <= 0 and not self._provider.busy))
        self._read_log()
        self.tally.tell(self.book.close())
        if self._provider.busy:
            self.tally.tell([f"{self._provider.busy} requests to the provider are under way that no run explains"])
        self.tally.tell([f"the provider broke down: {error!r}" for error in self._provider.trouble])
        self._provider.trouble.clear()
        held = await self._census()
        await self._until(lambda: not self._provider.busy)
        await self._provider.close_idle()
        base = self.tally.rests[0] if self.tally.rests else None
        files = await self._settled_descriptors()
        rest = Rest(held["tasks"], held["objects"], sum(files.values()), files["socket"])
        self.tally.rests.append(rest)
        if self._provider.open:
            self.tally.tell([f"{self._provider.open} connections to the provider are still open"])
        if base is not None and (rest.files > base.files or rest.tasks > base.tasks or rest.sockets > base.sockets):
            self.tally.tell([f"the server holds more than after the first round: {base}, then {rest}: {files}"])

    async def _settled_descriptors(self) -> Counter[str]:
        """When they have not changed for a while: what both sides have closed takes the server a moment."""
        files, steady = descriptors(self._server.pid), 0

        def settled() -> bool:
            nonlocal files, steady
            before, files = files, descriptors(self._server.pid)
            steady = steady + 1 if files == before else 0
            return steady == _STEADY

        await self._until(settled)
        return files

    async def _census(self) -> dict[str, int]:
        """What the server says of itself, with nothing but this one run."""
        play = Play(Call("census", '{"message":"soak-census"}'), frozenset({"finished"}))
        seen = await self._http.call("json", play)
        await self._http.close()
        self.book.note(seen.run_id, Made("the census", play.outcomes))
        await self._until(lambda: self._read_log() or self.book.missing <= 0)
        self.tally.tell(self.book.close())
        return self._provider.census

    def _read_log(self) -> None:
        self.tally.tell(self.book.read(self._server.log.new()))

    async def _until(self, settled: Callable[[], object]) -> None:
        end = time.monotonic() + _SETTLES_WITHIN
        while not settled() and time.monotonic() < end:  # noqa: ASYNC110 - another process sets no event
            await asyncio.sleep(0.05)


def _outcome(seen: Seen) -> str:
    if seen.left:
        return "left"
    return seen.ends[0] if seen.ends else "cut"
