"""The engine in this process: the transport with no wire. Its events are written as lines of JSON."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec

from deltawire.bootstrap.core import Core
from deltawire.domain.run import RunRecord, RunRequest
from deltawire.engine.engine import Run
from tests.matrix.notation import Call, Script, Stop
from tests.matrix.reply import Reply


@dataclass(slots=True)
class Records:
    """An observer that keeps what it is told."""

    records: list[RunRecord] = field(default_factory=list[RunRecord])

    def ended(self, record: RunRecord) -> None:
        self.records.append(record)

    def new(self) -> list[RunRecord]:
        taken, self.records = self.records, []
        return taken


class EngineCaller:
    def __init__(self, core: Core) -> None:
        self.transport = "engine"
        self._engine = core.engine

    async def call(self, call: Call, script: Script | None = None) -> Reply:
        run = self._engine.arrive("engine")
        request = msgspec.json.decode(call.run_request(), type=RunRequest)
        came: list[bytes] = []
        news = asyncio.Condition()
        conductor = asyncio.create_task(self._conduct(script.stops if script else [], run, came, news))
        async with aclosing(run.events(call.function, request)) as events:
            async for event in events:
                async with news:
                    came.append(msgspec.json.encode(event) + b"\n")
                    news.notify_all()
        conductor.cancel()
        await asyncio.wait([conductor])
        return Reply("", b"".join(came), complete=True)

    async def _conduct(self, stops: list[Stop], run: Run, came: list[bytes], news: asyncio.Condition) -> None:
        seen = 0
        for stop in stops:
            await stop.gate.reached()
            if stop.kind == "leave":
                run.cancel()
                continue
            async with news:
                await news.wait_for(
                    lambda stop=stop, seen=seen: stop.kind == "hold" or stop.shown_in(b"".join(came[seen:]), "engine")
                )
                seen = len(came)
            stop.gate.open()
