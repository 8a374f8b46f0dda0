"""An engine whose model is a script, with an observer that remembers: what the engine's tests are played on."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager

import msgspec
from msgspec import Raw

from deltawire.bootstrap.core import build_core
from deltawire.domain.errors import Reason
from deltawire.domain.events import Error, Event, Finished
from deltawire.domain.function import Function
from deltawire.domain.run import RunRecord, RunRequest, RunSettings
from deltawire.engine.breaker import BreakerSettings
from deltawire.engine.engine import Engine, Run
from deltawire.engine.plan import Model, Plan, Way
from deltawire.providers.scripted import Scripted, Step
from deltawire.settings import Settings


def one_way(function: Function, model: Model) -> Plan:
    """A function without variants, on one model."""
    return Plan(function, (Way(None, 1.0, function.settings, (model,)),))


class Stage:
    def __init__(self, engine: Engine, provider: Scripted, records: list[RunRecord]) -> None:
        self.engine = engine
        self.provider = provider
        self.records = records

    def arrive(self) -> Run:
        return self.engine.arrive("test")

    async def events(self, name: str, request: RunRequest, *, strict: bool = False, whole: bool = False) -> list[Event]:
        """All events of a run, which has been observed once, as its last event says."""
        before = len(self.records)
        events = await collected(self.arrive(), name, request, strict=strict, whole=whole)
        (record,) = self.records[before:]
        match events[-1]:
            case Finished() as finished:
                assert (record.outcome, record.usage, record.message) == (finished.finish_reason, finished.usage, None)
            case Error() as error:
                assert (record.outcome, record.message) == (error.reason, error.message)
                assert error.partial == (len(events) > 1)
                assert error.code is error.reason.code
            case other:
                raise AssertionError(f"a run ends in a terminal event, not in {other}")
        assert not any(isinstance(event, Finished | Error) for event in events[:-1])
        return events

    async def error(self, name: str, request: RunRequest, *, strict: bool = False, whole: bool = False) -> Error:
        """The error in which a run ends."""
        event = (await self.events(name, request, strict=strict, whole=whole))[-1]
        assert isinstance(event, Error), event
        return event

    async def finished(self, name: str, request: RunRequest, *, strict: bool = False, whole: bool = False) -> Finished:
        event = (await self.events(name, request, strict=strict, whole=whole))[-1]
        assert isinstance(event, Finished), event
        return event

    @property
    def record(self) -> RunRecord:
        (record,) = self.records
        return record

    def assert_canceled(self, message: str = "the caller left") -> None:
        assert (self.record.outcome, self.record.message) == (Reason.canceled, message)


@asynccontextmanager
async def stage(
    functions: Sequence[Function], *always: Step, breaker: BreakerSettings | None = None, **others: Scripted
) -> AsyncGenerator[Stage, None]:
    """Functions without a model of their own run on a provider that always says the same; ``others`` are more."""
    provider, records = Scripted(*always), list[RunRecord]()
    core = build_core(
        {function.name: function for function in functions},
        Settings.model_construct(model="scripted:script", breaker=breaker or BreakerSettings()),
        [_Memory(records)],
        providers={"scripted": provider, **others},
    )
    try:
        yield Stage(core.engine, provider, records)
    finally:
        await core.close()


def request(
    *,
    settings: RunSettings | None = None,
    timeout: float | None = None,
    variant: str | None = None,
    user: str | None = None,
    raw: bytes | None = None,
    **arguments: object,
) -> RunRequest:
    """``raw`` is the input's JSON text; otherwise the arguments are it."""
    encoded = msgspec.json.encode(arguments) if raw is None else raw
    return RunRequest(Raw(encoded), user=user, variant=variant, settings=settings or RunSettings(), timeout=timeout)


async def collected(
    run: Run, name: str, request: RunRequest, *, strict: bool = False, whole: bool = False
) -> list[Event]:
    async with aclosing(run.events(name, request, strict=strict, whole=whole)) as events:
        return [event async for event in events]


class _Memory:
    def __init__(self, records: list[RunRecord]) -> None:
        self._records = records

    def ended(self, record: RunRecord) -> None:
        self._records.append(record)
