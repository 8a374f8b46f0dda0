"""For the tests of one's own functions: a provider that says what the test wrote down, and a client.

    async with Client([extract_items], '{"items": ["lamp"]}') as client:
        assert await client.run(extract_items, passage="a lamp") == {"items": ["lamp"]}
        assert client.provider.attempts[0].messages[-1].content == "a lamp"

Everything but the provider is what serves real callers: validation, limits, retries, output types. Neither the
environment nor a configuration file is read.
"""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self

import msgspec
from msgspec import Raw
from pydantic import BaseModel

from deltawire.bootstrap.core import build_core
from deltawire.domain.errors import RunError
from deltawire.domain.events import Error, Event, Finished, FinishReason, Reasoning, Started, Text, Usage
from deltawire.domain.function import Function
from deltawire.domain.ports import Attempt, Completion
from deltawire.domain.run import RunRequest, RunSettings
from deltawire.engine.breaker import BreakerSettings
from deltawire.providers.scripted import Scripted, Step
from deltawire.settings import Settings

__all__ = [
    "Attempt",
    "Client",
    "Completion",
    "Error",
    "Event",
    "FinishReason",
    "Finished",
    "Reasoning",
    "Scripted",
    "Started",
    "Step",
    "Text",
    "Usage",
]


class Client:
    """Calls functions whose model is a script. An async context manager."""

    def __init__(self, functions: Iterable[Function], *always: Step) -> None:
        """``always`` is what the model answers unless ``provider.say(…)`` has queued something else."""
        self.provider = Scripted(*always)
        self._core = build_core(
            {function.name: function for function in functions},
            Settings.model_construct(breaker=BreakerSettings(failures=0)),  # a test's failures are meant
            [],
            model="scripted:script",
            providers={"scripted": self.provider},
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._core.close()

    async def run(self, function: Function | str, **arguments: object) -> Any:
        """The output, as JSON callers get it. Raises ``RunError`` where they would get an error."""
        run = self._core.engine.arrive("testing")
        match await run.outcome(_name(function), _request(arguments)):
            case Finished() as finished:
                return msgspec.json.decode(finished.output or b"null")
            case error:
                after = None if error.retry_after is msgspec.UNSET else error.retry_after
                raise RunError(error.reason, error.message, retry_after=after)

    async def events(
        self, function: Function | str, *, settings: RunSettings | None = None, **arguments: object
    ) -> list[Event]:
        """All events of a streamed run, with the error, if it ends in one, as its last."""
        return [event async for event in self.stream(function, settings=settings, **arguments)]

    async def stream(
        self, function: Function | str, *, settings: RunSettings | None = None, **arguments: object
    ) -> AsyncGenerator[Event, None]:
        """The events of a streamed run as they come. Closing it early is what a caller who leaves does."""
        run = self._core.engine.arrive("testing")
        async with aclosing(run.events(_name(function), _request(arguments, settings))) as events:
            async for event in events:
                yield event


def _name(function: Function | str) -> str:
    return function if isinstance(function, str) else function.name


def _request(arguments: dict[str, object], settings: RunSettings | None = None) -> RunRequest:
    encoded = msgspec.json.encode(arguments, enc_hook=_as_json)
    return RunRequest(Raw(encoded), settings=settings or RunSettings())


def _as_json(value: object) -> object:
    """Pydantic models, ``Message`` among them, as their JSON form."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} is no JSON value")
