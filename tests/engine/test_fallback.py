"""Models that are asked when the ones before them fail: until there is content, and never after."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from deltawire import Prompt, Timeouts, function
from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Event, Finished, Piece, Started, Text
from deltawire.domain.ports import Attempt, Completion
from deltawire.engine.engine import Run
from deltawire.providers.scripted import Scripted, Step
from tests.engine.stage import collected, request, stage

pytestmark = pytest.mark.anyio

DOWN = RunError(Reason.upstream_error, "down")
HI = request(words="hi")


@function(models=["a:first", "b:second", "c:third"], retries=0, timeouts=Timeouts(first_token=0.2, total=5))
def say(words: str) -> Prompt:
    return Prompt(user=words)


@function(models=["a:first", "b:second"], retries=2)
def patient(words: str) -> Prompt:
    return Prompt(user=words)


def models_asked(*providers: Scripted) -> list[str]:
    return [attempt.model for provider in providers for attempt in provider.attempts]


def answer(events: list[Event]) -> tuple[str, str, int]:
    """The one clean answer that the caller saw: the model that gave it, its text, and the attempts."""
    [started, *texts, finished] = events
    assert isinstance(started, Started)
    assert isinstance(finished, Finished)
    return started.model, "".join(text.text for text in texts if isinstance(text, Text)), finished.attempts


@pytest.mark.parametrize(
    "reason",
    [
        Reason.upstream_unreachable,
        Reason.upstream_error,
        Reason.upstream_truncated,
        Reason.upstream_invalid,
        Reason.upstream_auth,
        Reason.upstream_rate_limited,
        Reason.outcome_unknown,
    ],
)
async def test_a_model_that_fails_before_content_is_followed_by_the_next(reason: Reason) -> None:
    a, b, c = Scripted(RunError(reason, "no")), Scripted("hello"), Scripted("unused")
    async with stage([say], a=a, b=b, c=c) as on:
        assert answer(await on.events("say", HI)) == ("b:second", "hello", 2)
        assert models_asked(a, b, c) == ["first", "second"]
        assert (on.record.model, on.record.attempts) == ("b:second", 2)


@pytest.mark.parametrize("reason", [Reason.upstream_rejected, Reason.content_filter, Reason.invalid_input])
async def test_what_is_wrong_with_the_call_is_not_asked_of_another_model(reason: Reason) -> None:
    a, b, c = Scripted(RunError(reason, "no")), Scripted("unused"), Scripted("unused")
    async with stage([say], a=a, b=b, c=c) as on:
        assert (await on.error("say", HI)).reason is reason
        assert models_asked(a, b, c) == ["first"]


async def test_after_content_there_is_one_error_and_no_second_call() -> None:
    a, b, c = Scripted("hel", DOWN), Scripted("unused"), Scripted("unused")
    async with stage([say], a=a, b=b, c=c) as on:
        [_, text, error] = await on.events("say", HI)
        assert text == Text("hel")
        assert isinstance(error, Error)
        assert (error.reason, error.partial) == (Reason.upstream_error, True)
        assert models_asked(a, b, c) == ["first"]


async def test_the_last_models_failure_is_the_runs() -> None:
    a, b, c = Scripted(DOWN), Scripted(DOWN), Scripted(RunError(Reason.upstream_auth, "bad key"))
    async with stage([say], a=a, b=b, c=c) as on:
        assert (await on.error("say", HI)).message == "bad key"
        assert (on.record.model, on.record.attempts) == ("c:third", 3)


async def test_a_model_that_says_nothing_in_time_is_followed_by_the_next() -> None:
    never = asyncio.Event()
    a, b, c = Scripted(never), Scripted(never), Scripted("hello", " you")
    async with stage([say], a=a, b=b, c=c) as on:
        assert answer(await on.events("say", HI)) == ("c:third", "hello you", 3)
        assert (a.closed_early, b.closed_early, c.closed_early) == (1, 1, 0)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0


async def test_the_last_model_that_says_nothing_is_a_timeout() -> None:
    never = asyncio.Event()
    async with stage([say], a=Scripted(DOWN), b=Scripted(DOWN), c=Scripted(never)) as on:
        assert (await on.error("say", HI)).reason is Reason.first_token_timeout


async def test_the_limit_of_the_whole_run_is_not_a_reason_to_ask_another() -> None:
    never = asyncio.Event()
    a, b, c = Scripted(never), Scripted("unused"), Scripted("unused")
    async with stage([say], a=a, b=b, c=c) as on:
        error = await on.error("say", request(words="hi", timeout=0.1))
        assert error.reason is Reason.total_timeout
        assert models_asked(a, b, c) == ["first"]


async def test_a_caller_who_leaves_while_a_fallback_is_asked_ends_the_run() -> None:
    never = asyncio.Event()
    a, b, c = Scripted(DOWN), Scripted(never), Scripted("unused")
    async with stage([say], a=a, b=b, c=c) as on:
        run = on.arrive()
        asyncio.get_running_loop().call_later(0.05, run.cancel)
        outcome = await run.outcome("say", HI)
        assert isinstance(outcome, Error)
        assert outcome.reason is Reason.canceled
        assert (b.closed_early, models_asked(a, b, c)) == (1, ["first", "second"])


def busy(seconds: float | None) -> RunError:
    return RunError(Reason.upstream_rate_limited, "busy", retry_after=seconds, retry_safe=True)


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ([busy(0.01), busy(0.01)], ["first", "first", "first"]),
        ([busy(0.01), busy(0.01), busy(0.01)], ["first", "first", "first", "second"]),
        ([busy(20)], ["first", "second"]),
        ([DOWN], ["first", "second"]),
    ],
    ids=["retried", "retries are used up", "a long pause", "not safe to retry"],
)
async def test_a_model_is_asked_again_while_that_is_safe_and_soon(script: list[Step], asked: list[str]) -> None:
    a, b = Scripted("first"), Scripted("second")
    for step in script:
        a.say(step)
    async with stage([patient], a=a, b=b) as on:
        model, text, attempts = answer(await on.events("patient", HI))
        assert (model.partition(":")[2], text, attempts) == (asked[-1], asked[-1], len(asked))
        assert models_asked(a, b) == asked


async def test_a_model_may_stand_in_the_list_twice() -> None:
    @function(models=["a:same", "a:same"], retries=0)
    def twice(words: str) -> str:
        return words

    a = Scripted("hello")
    a.say(DOWN)
    async with stage([twice], a=a) as on:
        assert answer(await on.events("twice", HI)) == ("a:same", "hello", 2)


class _LeftWhileTheAttemptEnds(Scripted):
    """Ends its attempts slowly, and meanwhile the run is canceled."""

    run: Run

    async def stream(self, attempt: Attempt) -> AsyncGenerator[Piece | Completion, None]:
        self.attempts.append(attempt)
        try:
            await asyncio.Event().wait()
            yield Text("never")
        finally:
            self.run.cancel()
            await asyncio.sleep(0)


async def test_a_caller_who_leaves_just_when_a_model_is_given_up_leaves_the_run() -> None:
    a, b, c = _LeftWhileTheAttemptEnds(), Scripted("unused"), Scripted("unused")
    async with stage([say], a=a, b=b, c=c) as on:
        a.run = on.arrive()
        [error] = await collected(a.run, "say", HI)
        assert isinstance(error, Error)
        assert error.reason is Reason.canceled
        on.assert_canceled()
        assert models_asked(b, c) == []
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
