"""What a run is from its arrival to its terminal event, with a script for a model."""

import asyncio
import json
import logging
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import cast

import pytest
from pydantic import BaseModel, model_validator

from deltawire import Message, Prompt, function
from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Event, Finished, FinishReason, Piece, Reasoning, Started, Text, Usage
from deltawire.domain.function import Function
from deltawire.domain.ports import Attempt, Completion
from deltawire.domain.run import RunSettings
from deltawire.engine.engine import Engine
from deltawire.engine.plan import Model
from tests.engine.stage import collected, one_way, request, stage

pytestmark = pytest.mark.anyio


@function(max_tokens=100, temperature=0.5)
def say(words: str) -> Prompt:
    return Prompt(system="Speak.", user=words)


class Item(BaseModel):
    name: str


@function(output=Item)
def item(words: str) -> str:
    return words


def ended(reason: FinishReason) -> Completion:
    return Completion(finish_reason=reason, usage=Usage(3, 4))


async def test_a_run_is_started_pieces_finished_in_this_order() -> None:
    async with stage([say], Reasoning("hm"), "a", "b", ended(FinishReason.stop)) as on:
        events = await on.events("say", request(words="hi"))
        started = events[0]
        assert isinstance(started, Started)
        assert (started.function, started.model, started.max_tokens, started.timeout) == (
            "say",
            "scripted:script",
            100,
            300,
        )
        assert events[1:-1] == [Reasoning("hm"), Text("a"), Text("b")]
        assert events[-1] == Finished(
            run_id=started.run_id, output=None, finish_reason=FinishReason.stop, usage=Usage(3, 4), attempts=1
        )


async def test_an_empty_answer_is_started_and_finished() -> None:
    async with stage([say], ended(FinishReason.stop)) as on:
        events = await on.events("say", request(words="hi"))
        assert [type(event) for event in events] == [Started, Finished]
        assert on.record.first_content is None


async def test_the_record_of_a_run_tells_all_of_it() -> None:
    async with stage([say], "a") as on:
        events = await on.events("say", request(words="hi"))
        record = on.record
        assert isinstance(events[0], Started)
        assert (record.run_id, record.transport, record.function, record.model, record.attempts) == (
            events[0].run_id,
            "test",
            "say",
            "scripted:script",
            1,
        )
        assert record.first_content is not None
        assert 0 <= record.first_content <= record.total


async def test_the_provider_gets_messages_and_settings() -> None:
    async with stage([say], "a") as on:
        await on.events("say", request(words="hi", settings=RunSettings(temperature=0.0, seed=7, max_tokens=5)))
        (attempt,) = on.provider.attempts
        assert attempt.messages == (Message(role="system", content="Speak."), Message(role="user", content="hi"))
        assert (attempt.model, attempt.max_tokens, attempt.temperature, attempt.seed) == ("script", 5, 0.0, 7)


@pytest.mark.parametrize(("wanted", "given"), [(None, 100), (1, 1), (100, 100), (101, 100)])
async def test_max_tokens_above_the_cap_is_lowered_to_it(wanted: int | None, given: int) -> None:
    async with stage([say], "a") as on:
        events = await on.events("say", request(words="hi", settings=RunSettings(max_tokens=wanted)))
        assert isinstance(events[0], Started)
        assert events[0].max_tokens == on.provider.attempts[0].max_tokens == given


@pytest.mark.parametrize(("wanted", "given"), [(None, 300.0), (1.5, 1.5), (1e9, 300.0)])
async def test_a_timeout_above_the_total_is_lowered_to_it(wanted: float | None, given: float) -> None:
    async with stage([say], "a") as on:
        events = await on.events("say", request(words="hi", timeout=wanted))
        assert isinstance(events[0], Started)
        assert events[0].timeout == given


@pytest.mark.parametrize(
    ("name", "reason", "about"),
    [
        ("sya", Reason.unknown_function, "'say'"),
        ("x" * 1000, Reason.unknown_function, "'item', 'say'"),
        ("say", Reason.invalid_input, "input.words"),
    ],
)
async def test_what_cannot_be_run_is_refused_with_the_way_out(name: str, reason: Reason, about: str) -> None:
    async with stage([say, item], "a") as on:
        error = await on.error(name, request(other="hi"))
        assert error.reason is reason
        assert about in error.message
        assert len(error.message) < 300
        assert on.provider.attempts == []


async def test_a_variant_that_does_not_exist_is_refused() -> None:
    async with stage([say], "a") as on:
        assert (await on.error("say", request(words="hi", variant="b"))).reason is Reason.unknown_variant


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("reason", FinishReason)
async def test_a_text_function_finishes_with_every_finish_reason(reason: FinishReason, whole: bool) -> None:
    async with stage([say], "a\u2028", "b", ended(reason)) as on:
        finished = await on.finished("say", request(words="hi"), whole=whole)
        assert (finished.finish_reason, finished.usage) == (reason, Usage(3, 4))
        assert finished.output is None if not whole else bytes(finished.output or b"") == '"a\u2028b"'.encode()


@pytest.mark.parametrize("name", ["say", "item"])
@pytest.mark.parametrize(
    ("reason", "becomes"),
    [
        (FinishReason.length, Reason.output_truncated),
        (FinishReason.content_filter, Reason.content_filter),
        (FinishReason.refusal, Reason.refusal),
        (FinishReason.unknown, Reason.upstream_truncated),
    ],
)
async def test_strict_callers_and_typed_functions_get_an_error_instead(
    name: str, reason: FinishReason, becomes: Reason
) -> None:
    async with stage([say, item], '{"name":"a"}', ended(reason)) as on:
        error = await on.error(name, request(words="hi"), strict=name == "say")
        assert (error.reason, error.partial) == (becomes, True)
        assert on.record.usage == Usage(3, 4)


async def test_async_and_inline_functions_run_in_the_loop_and_sync_ones_beside_it() -> None:
    threads: list[threading.Thread] = []

    @function
    async def waits(words: str) -> str:
        await asyncio.sleep(0)
        threads.append(threading.current_thread())
        return words

    @function(inline=True)
    def inline(words: str) -> str:
        threads.append(threading.current_thread())
        return words

    @function
    def blocks(words: str) -> str:
        threads.append(threading.current_thread())
        return words

    async with stage([waits, inline, blocks], "a") as on:
        for name in ("waits", "inline", "blocks"):
            await on.finished(name, request(words="hi"))
    here = threading.current_thread()
    assert [thread is here for thread in threads] == [True, True, False]


async def test_sixty_four_sync_functions_overlap() -> None:
    together = threading.Barrier(64, timeout=10)

    @function
    def blocks(words: str) -> str:
        together.wait()
        return words

    async with stage([blocks], "a") as on:
        runs = [collected(on.arrive(), "blocks", request(words="hi")) for _ in range(64)]
        assert all(isinstance(events[-1], Finished) for events in await asyncio.gather(*runs))


class Unknown(Exception):
    pass


def _failing(kind: str, error: BaseException) -> Function:
    if kind == "async":

        @function
        async def fails(words: str) -> str:  # noqa: ARG001
            await asyncio.sleep(0)
            raise error

        return fails

    @function(inline=kind == "inline")
    def fails(words: str) -> str:  # noqa: ARG001
        raise error

    return fails


@pytest.mark.parametrize("kind", ["async", "inline", "thread"])
@pytest.mark.parametrize("error", [Unknown("secret"), StopIteration(1), SystemExit(3), TimeoutError()])
async def test_a_function_that_raises_is_our_failure_and_is_logged(
    kind: str, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async with stage([_failing(kind, error)], "a") as on:
        failure = await on.error("fails", request(words="hi"))
        assert (failure.reason, failure.partial) == (Reason.internal, False)
        assert "secret" not in failure.message
        assert f"run {failure.run_id} of fails failed" in caplog.text
        assert on.provider.attempts == []


async def test_a_function_whose_own_task_was_cancelled_is_our_failure() -> None:
    @function
    async def fails(words: str) -> str:
        task = asyncio.create_task(asyncio.Event().wait())
        asyncio.get_running_loop().call_soon(task.cancel)
        await task
        return words

    async with stage([fails], "a") as on:
        assert (await on.error("fails", request(words="hi"))).reason is Reason.internal


@pytest.mark.parametrize("kind", ["async", "inline", "thread"])
async def test_a_function_may_refuse_by_a_run_error(kind: str) -> None:
    error = RunError(Reason.invalid_input, "no such customer", retry_after=1.5)
    async with stage([_failing(kind, error)], "a") as on:
        failure = await on.error("fails", request(words="hi"))
        assert (failure.reason, failure.message, failure.retry_after) == (Reason.invalid_input, "no such customer", 1.5)


@pytest.mark.parametrize("returned", [None, 5, b"x", [], [1], Prompt(), {"user": "x"}])
async def test_a_function_that_returns_no_prompt_is_our_failure(
    returned: object, caplog: pytest.LogCaptureFixture
) -> None:
    @function(inline=True)
    def returns(words: str) -> str:  # noqa: ARG001  (its type is what is wrong with it)
        return cast("str", returned)

    async with stage([returns], "a") as on:
        assert (await on.error("returns", request(words="hi"))).reason is Reason.internal
        assert "run " in caplog.text


class Foreign:
    """A provider with a fault."""

    def __init__(self, *steps: Piece | Completion | BaseException) -> None:
        self._steps = steps

    async def stream(self, attempt: Attempt) -> AsyncGenerator[Piece | Completion, None]:  # noqa: ARG002
        for step in self._steps:
            if isinstance(step, BaseException):
                raise step
            yield step

    async def close(self) -> None:
        pass


async def _events_of(provider: Foreign) -> Sequence[Event]:
    async with stage([say]) as on:
        plan = on.engine.plans["say"]
        engine = Engine(
            {"say": one_way(plan.function, Model("f:m", "m", provider))}, on.engine.observers, on.engine.pool
        )
        events = await collected(engine.arrive("test"), "say", request(words="hi"))
        assert on.record.failed
        return events


@pytest.mark.parametrize("steps", [[], [Text("a")], [Unknown()], [Text("a"), Unknown()], [Text("a"), OSError()]])
async def test_a_provider_with_a_fault_is_our_failure(
    steps: list[Piece | Completion | BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "deltawire.engine")
    error = (await _events_of(Foreign(*steps)))[-1]
    assert getattr(error, "reason", None) is Reason.internal
    assert getattr(error, "partial", None) is bool(steps and isinstance(steps[0], Text))


async def test_closing_the_events_early_closes_the_provider_and_is_observed_once() -> None:
    async with stage([say], "a", asyncio.Event()) as on:
        run = on.arrive()
        async with aclosing(run.events("say", request(words="hi"))) as events:
            assert isinstance(await anext(events), Started)
            assert await anext(events) == Text("a")
        assert on.provider.closed_early == 1
        on.assert_canceled()


async def test_events_that_are_never_iterated_are_not_observed() -> None:
    async with stage([say], "a") as on:
        async with aclosing(on.arrive().events("say", request(words="hi"))):
            pass
        assert on.records == []


async def test_each_event_may_be_waited_for_in_a_task_of_its_own() -> None:
    async with stage([say], "a", "b") as on:
        async with aclosing(on.arrive().events("say", request(words="hi"))) as events:
            kinds = [type(await asyncio.wait_for(anext(events), 20)) for _ in range(4)]
        assert kinds == [Started, Text, Text, Finished]


async def test_the_outcome_of_a_text_run_holds_the_text() -> None:
    async with stage([say], "a", '"', Reasoning("r"), "b") as on:
        outcome = await on.arrive().outcome("say", request(words="hi"))
        assert isinstance(outcome, Finished)
        assert bytes(outcome.output or b"") == b'"a\\"b"'


class Seen(BaseModel):
    """Notes the thread in which it is read."""

    words: list[str]
    thread: int = 0

    @model_validator(mode="after")
    def note(self) -> "Seen":
        if self.words == ["stop"] * len(self.words):
            raise StopIteration
        self.thread = threading.get_ident()
        return self


@function(output=Seen)
def seen(text: str) -> str:
    return text


@pytest.mark.parametrize(("words", "beside"), [(10, False), (50_000, True)])
async def test_a_long_answer_is_read_beside_the_loop(words: int, beside: bool) -> None:
    async with stage([seen]) as on:
        on.provider.say(json.dumps({"words": ["a"] * words}))
        output = (await on.finished("seen", request(text="x"))).output
        assert output is not None
        assert (json.loads(bytes(output))["thread"] != threading.get_ident()) == beside


@pytest.mark.parametrize("words", [10, 50_000])
async def test_a_validator_that_raises_what_no_future_carries_is_our_failure(words: int) -> None:
    async with stage([seen]) as on:
        on.provider.say(json.dumps({"words": ["stop"] * words}))
        assert (await on.error("seen", request(text="x"))).reason is Reason.internal
