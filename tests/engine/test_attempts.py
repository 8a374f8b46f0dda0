"""An attempt is made again only where that can cost nothing: before content, and where it is said to be safe."""

import asyncio

import pytest

from deltawire import function
from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Finished, Reasoning, Text
from deltawire.domain.limits import Timeouts
from tests.engine.stage import Stage, request, stage

pytestmark = pytest.mark.anyio

HI = request(words="hi")


@function(retries=2)
def say(words: str) -> str:
    return words


def busy(retry_after: float | None = None) -> RunError:
    return RunError(Reason.upstream_rate_limited, "busy", retry_after=retry_after, retry_safe=True)


def broken() -> RunError:
    return RunError(Reason.upstream_error, "broken")


async def test_a_safe_failure_is_tried_again_and_counted() -> None:
    async with stage([say], "a") as on:
        on.provider.say(busy())
        on.provider.say(busy())
        finished = await on.finished("say", HI)
        assert (finished.attempts, on.record.attempts, len(on.provider.attempts)) == (3, 3, 3)


async def test_tries_end_when_the_retries_are_used_up() -> None:
    async with stage([say], busy(0.5e-3)) as on:
        error = await on.error("say", HI)
        assert (error.reason, error.retry_after, on.record.attempts) == (Reason.upstream_rate_limited, 0.5e-3, 3)


async def test_a_function_without_retries_has_one_attempt() -> None:
    @function(retries=0)
    def once(words: str) -> str:
        return words

    async with stage([once], busy()) as on:
        await on.error("once", HI)
        assert on.record.attempts == 1


async def test_a_failure_that_may_have_cost_something_is_not_tried_again() -> None:
    async with stage([say], broken()) as on:
        assert (await on.error("say", HI)).reason is Reason.upstream_error
        assert on.record.attempts == 1


@pytest.mark.parametrize("content", ["a", Reasoning("hm")])
async def test_nothing_is_tried_again_after_content(content: str | Reasoning) -> None:
    async with stage([say], content, busy()) as on:
        error = await on.error("say", HI)
        assert (error.partial, on.record.attempts) == (True, 1)


async def test_only_the_last_attempt_is_heard() -> None:
    async with stage([say], "a") as on:
        on.provider.say(busy())
        events = await on.events("say", HI)
        assert [event for event in events if isinstance(event, Text)] == [Text("a")]


async def _paused(on: Stage) -> float:
    loop = asyncio.get_running_loop()
    start = loop.time()
    await on.events("say", HI)
    return loop.time() - start


async def test_a_wait_that_the_provider_asks_for_is_kept() -> None:
    async with stage([say], "a") as on:
        on.provider.say(busy(0.4))
        assert await _paused(on) >= 0.4


async def test_a_wait_that_outlasts_the_run_is_not_begun() -> None:
    async with stage([say], busy(86400)) as on:
        assert await _paused(on) < 5
        assert (on.record.outcome, on.record.attempts) == (Reason.upstream_rate_limited, 1)


async def test_the_hint_of_a_wait_that_is_not_begun_is_passed_on() -> None:
    async with stage([say], busy(86400)) as on:
        assert (await on.error("say", HI)).retry_after == 86400


async def test_a_caller_s_own_timeout_bounds_the_waits() -> None:
    async with stage([say], busy(1)) as on:
        error = await on.error("say", request(words="hi", timeout=0.9))
        assert (error.reason, on.record.attempts) == (Reason.upstream_rate_limited, 1)


async def test_each_attempt_has_its_own_first_token_limit() -> None:
    @function(timeouts=Timeouts(first_token=0.2))
    def quick(words: str) -> str:
        return words

    async with stage([quick], "a") as on:
        on.provider.say(busy(0.3))  # the pause is nobody's silence
        (*_, last) = await on.events("quick", HI)
        assert isinstance(last, Finished)


async def test_a_first_token_limit_is_not_tried_again() -> None:
    @function(timeouts=Timeouts(first_token=0.02))
    def quick(words: str) -> str:
        return words

    async with stage([quick], asyncio.Event()) as on:
        (*_, last) = await on.events("quick", HI)
        assert isinstance(last, Error)
        assert (last.reason, on.record.attempts) == (Reason.first_token_timeout, 1)
