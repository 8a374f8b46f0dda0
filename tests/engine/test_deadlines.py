"""Every limit ends its run with its own reason, every cancellation in every window, and no task stays marked by it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from contextvars import Context

import pytest

from deltawire import function
from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Event, Finished, Reasoning, Started, Text
from deltawire.domain.limits import Timeouts
from deltawire.domain.ports import Attempt, Completion
from deltawire.engine.deadlines import Deadline
from deltawire.engine.engine import Engine, Run
from deltawire.engine.plan import Model
from tests.engine.stage import Stage, collected, one_way, request, stage

pytestmark = pytest.mark.anyio

SOON = 0.1
HI = request(words="hi")


def limited(**limits: float) -> Timeouts:
    return Timeouts.model_validate(limits)


def cancelling() -> int:
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


@function(timeouts=limited(first_token=SOON), retries=0)
def first_token(words: str) -> str:
    return words


@function(timeouts=limited(idle=SOON))
def idle(words: str) -> str:
    return words


@function(timeouts=limited(total=SOON))
def total(words: str) -> str:
    return words


@function
async def never(words: str) -> str:
    await asyncio.Event().wait()
    return words


@function
def say(words: str) -> str:
    return words


@function(inline=True)
def inline(words: str) -> str:
    """Has asked the model after one turn of the loop."""
    return words


async def _turns() -> None:
    """A few turns of the loop, in which everything that can happen happens."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("name", "before", "reason", "message"),
    [
        ("first_token", [], "first_token_timeout", "the model said nothing within 0.1 s (limit: first_token)"),
        (
            "idle",
            ["a"],
            "idle_timeout",
            "the model fell silent in the middle of its answer within 0.1 s (limit: idle)",
        ),
        ("total", [], "total_timeout", "the run did not end within 0.1 s (limit: total)"),
        ("total", ["a"], "total_timeout", "the run did not end within 0.1 s (limit: total)"),
    ],
)
async def test_each_limit_has_its_own_error(name: str, before: list[str], reason: str, message: str) -> None:
    async with stage([first_token, idle, total], *before, asyncio.Event()) as on:
        error = await on.error(name, HI)
        assert (error.reason, error.message, error.partial) == (Reason(reason), message, bool(before))
        assert on.provider.closed_early == 1
        assert cancelling() == 0


@pytest.mark.parametrize("name", ["first_token", "total"])
async def test_reasoning_is_content_for_the_first_token_limit(name: str) -> None:
    async with stage([first_token, total], Reasoning("hm"), asyncio.Event()) as on:
        if name == "total":
            assert (await on.error(name, HI)).reason is Reason.total_timeout
        else:
            run = on.arrive()
            async with aclosing(run.events(name, HI)) as events:
                assert [type(await anext(events)) for _ in range(2)] == [Started, Reasoning]
                waiting = asyncio.ensure_future(anext(events))
                await asyncio.wait([waiting], timeout=SOON * 3)
                assert not waiting.done()
                run.cancel()
                assert isinstance(await waiting, Error)


async def test_the_total_limit_counts_while_the_function_itself_runs() -> None:
    async with stage([never], "a") as on:
        error = await on.error("never", request(words="hi", timeout=SOON))
        assert (error.reason, on.provider.attempts, cancelling()) == (Reason.total_timeout, [], 0)


async def test_the_total_limit_does_not_wait_for_a_thread() -> None:
    release = threading.Event()

    @function
    def blocks(words: str) -> str:
        release.wait(10)
        return words

    async with stage([blocks], "a") as on:
        try:
            assert (await on.error("blocks", request(words="hi", timeout=SOON))).reason is Reason.total_timeout
        finally:
            release.set()


async def test_a_function_that_swallows_the_interruption_ends_in_the_limit_all_the_same() -> None:
    @function
    async def stubborn(words: str) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return words
        return words

    async with stage([stubborn], asyncio.Event()) as on:
        error = await asyncio.wait_for(on.error("stubborn", request(words="hi", timeout=SOON)), 20)
        assert (error.reason, on.provider.attempts, cancelling()) == (Reason.total_timeout, [], 0)


async def test_time_at_the_caller_is_no_silence_of_the_model() -> None:
    async with stage([idle], "a", "b") as on:
        async with aclosing(on.arrive().events("idle", HI)) as events:
            heard = [await anext(events), await anext(events)]
            await asyncio.sleep(SOON * 3)  # the caller takes its time: what is tested is time itself
            heard += [event async for event in events]
        assert [type(event) for event in heard] == [Started, Text, Text, Finished]


async def test_a_limit_that_ends_while_the_caller_is_busy_is_told_when_it_comes_back() -> None:
    async with stage([total], "a", "b") as on:
        async with aclosing(on.arrive().events("total", HI)) as events:
            heard = [await anext(events), await anext(events)]
            await asyncio.sleep(SOON * 2)
            heard += [event async for event in events]
        assert isinstance(heard[-1], Error)
        assert (heard[1:-1], heard[-1].reason) == ([Text("a")], Reason.total_timeout)
        assert (on.provider.closed_early, cancelling()) == (1, 0)


# The pulse, through a provider that says just that.


class Pulsing:
    def __init__(self, play: Callable[[Attempt], Awaitable[None]]) -> None:
        self._play = play

    async def stream(self, attempt: Attempt) -> AsyncGenerator[Text | Completion, None]:
        yield Text("a")
        await self._play(attempt)

    async def close(self) -> None:
        pass


class Connecting(Pulsing):
    async def stream(self, attempt: Attempt) -> AsyncGenerator[Text | Completion, None]:
        await self._play(attempt)
        yield Text("a")


async def _last(function_name: str, timeouts: Timeouts, provider: Pulsing) -> Event:
    @function(timeouts=timeouts, name=function_name)
    def paced(words: str) -> str:
        return words

    async with stage([paced]) as on:
        plan = on.engine.plans[function_name]
        engine = Engine({"f": one_way(plan.function, Model("p:m", "m", provider))}, on.engine.observers, on.engine.pool)
        return (await asyncio.wait_for(collected(engine.arrive("test"), "f", HI), 20))[-1]


async def test_the_connect_limit_runs_while_a_connection_is_opened() -> None:
    async def connect(attempt: Attempt) -> None:
        attempt.pulse.connecting()
        await asyncio.Event().wait()

    error = await _last("f", limited(connect=SOON), Connecting(connect))
    assert isinstance(error, Error)
    assert (error.reason, error.message) == (
        Reason.connect_timeout,
        "no connection to the provider within 0.1 s (limit: connect)",
    )


async def test_a_connection_that_stands_ends_the_connect_limit() -> None:
    async def connect(attempt: Attempt) -> None:
        attempt.pulse.connecting()
        attempt.pulse.connected()
        await asyncio.Event().wait()

    error = await _last("f", limited(connect=SOON, first_token=SOON * 2), Connecting(connect))
    assert isinstance(error, Error)
    assert error.reason is Reason.first_token_timeout


async def test_signs_of_life_put_the_idle_limit_off_but_not_the_first_token_limit() -> None:
    clock, limit = asyncio.get_running_loop().time, 0.5  # long beside what a busy machine may keep this process waiting

    async def pings(attempt: Attempt) -> None:
        until = clock() + limit * 2
        while clock() < until:
            await asyncio.sleep(SOON / 2)
            attempt.pulse.received()
        raise RunError(Reason.upstream_error, "done")

    for provider, limits, reason in (
        (Pulsing(pings), limited(idle=limit), Reason.upstream_error),
        (Connecting(pings), limited(first_token=SOON, idle=SOON), Reason.first_token_timeout),
    ):
        error = await _last("f", limits, provider)
        assert isinstance(error, Error)
        assert error.reason is reason


# Cancelling a run: it ends in its own error, and the task goes on.


async def _canceled(on: Stage, run: Run, name: str, when: Callable[[], Awaitable[object]]) -> list[Event]:
    async def cancel() -> None:
        await when()
        run.cancel()
        run.cancel("twice")

    canceller = asyncio.create_task(cancel())
    events = await asyncio.wait_for(collected(run, name, HI), 20)
    await canceller
    error = events[-1]
    assert isinstance(error, Error)
    assert (error.reason, error.message) == (Reason.canceled, "the caller left")
    on.assert_canceled()
    assert cancelling() == 0
    return events


async def test_a_run_canceled_before_it_begins_asks_nobody() -> None:
    async with stage([say], "a") as on:
        run = on.arrive()
        run.cancel()
        (error,) = await collected(run, "say", HI)
        assert isinstance(error, Error)
        assert (error.reason, on.provider.attempts) == (Reason.canceled, [])
        on.assert_canceled()


async def test_a_run_canceled_while_its_function_waits() -> None:
    async with stage([never], "a") as on:
        await _canceled(on, on.arrive(), "never", lambda: asyncio.sleep(0))
        assert on.provider.attempts == []


async def test_a_run_canceled_while_its_function_blocks_a_thread() -> None:
    entered, release = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @function
    def blocks(words: str) -> str:
        loop.call_soon_threadsafe(entered.set)
        release.wait(10)
        return words

    async with stage([blocks], "a") as on:
        try:
            await _canceled(on, on.arrive(), "blocks", entered.wait)
        finally:
            release.set()
        assert on.provider.attempts == []


@pytest.mark.parametrize("before", [[], ["a"]])
async def test_a_run_canceled_while_it_waits_for_the_model(before: list[str]) -> None:
    async with stage([inline], *before, asyncio.Event()) as on:
        events = await _canceled(on, on.arrive(), "inline", _turns)
        assert len(events) == (3 if before else 1)
        assert on.provider.closed_early == 1


async def test_a_run_canceled_while_it_stands_at_an_event() -> None:
    async with stage([say], "a", "b") as on:
        run = on.arrive()
        heard: list[Event] = []
        async with aclosing(run.events("say", HI)) as events:
            async for event in events:
                heard.append(event)
                if isinstance(event, Text):
                    run.cancel()
        assert [type(event) for event in heard] == [Started, Text, Error]
        assert (on.provider.closed_early, cancelling()) == (1, 0)
        on.assert_canceled()


async def test_a_run_canceled_in_the_pause_before_a_retry() -> None:
    async with stage([inline], RunError(Reason.upstream_error, "busy", retry_after=60, retry_safe=True)) as on:
        await _canceled(on, on.arrive(), "inline", _turns)
        assert len(on.provider.attempts) == 1


async def test_canceling_a_run_that_is_over_changes_nothing() -> None:
    async with stage([say], "a") as on:
        run = on.arrive()
        assert isinstance((await collected(run, "say", HI))[-1], Finished)
        run.cancel()
        await asyncio.sleep(0)
        assert (on.record.failed, cancelling()) == (False, 0)


# Cancelling the task: the run is over, and the cancellation is nobody else's to keep.


async def _cancelled_task(on: Stage, name: str, also: Callable[[Run], None], *, first: bool) -> None:
    run = on.arrive()
    task = asyncio.create_task(collected(run, name, HI))
    await _turns()
    if first:
        task.cancel()
    also(run)
    if not first:
        task.cancel()
    await asyncio.wait([task], timeout=5)
    assert task.cancelled()
    assert on.record.outcome is Reason.canceled


@pytest.mark.parametrize("before", [[], ["a"]])
async def test_a_task_that_is_cancelled_stays_cancelled(before: list[str]) -> None:
    async with stage([inline], *before, asyncio.Event()) as on:
        await _cancelled_task(on, "inline", lambda _: None, first=True)
        assert on.provider.closed_early == 1


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("name", ["inline", "never"])
async def test_a_task_that_is_cancelled_together_with_its_run_stays_cancelled(name: str, first: bool) -> None:
    async with stage([inline, never], asyncio.Event()) as on:
        await _cancelled_task(on, name, lambda run: run.cancel(), first=first)


async def test_a_run_in_a_task_that_was_cancelled_before_still_ends_in_its_limit() -> None:
    async def cleanup(on: Stage) -> Event:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:  # the last words of a task that is on its way out
            return (await collected(on.arrive(), "total", HI))[-1]
        raise AssertionError

    async with stage([total], asyncio.Event()) as on:
        task = asyncio.create_task(cleanup(on))
        await asyncio.sleep(0)
        task.cancel()
        error = await asyncio.wait_for(task, 20)
        assert isinstance(error, Error)
        assert error.reason is Reason.total_timeout


async def test_a_deadline_whose_interruption_nobody_claims_takes_it_back() -> None:
    deadline = Deadline(Timeouts(), 60, asyncio.get_running_loop().time())
    deadline.resume()
    deadline.stop(RunError(Reason.canceled, "x"))
    assert cancelling() == 1
    with pytest.raises(asyncio.CancelledError):
        await asyncio.sleep(0)
    deadline.close()
    assert cancelling() == 0


class Counting(asyncio.SelectorEventLoop):
    """Counts the timers that are set."""

    timers = 0

    def call_at(
        self, when: float, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self.timers += 1
        return super().call_at(when, callback, *args, context=context)


def test_all_the_limits_of_a_run_that_keeps_them_share_one_timer() -> None:
    async def run() -> None:
        deadline = Deadline(Timeouts(), 300, asyncio.get_running_loop().time())
        deadline.begin_attempt()
        deadline.connecting()
        deadline.connected()
        deadline.commit()
        deadline.close()

    with asyncio.Runner(loop_factory=Counting) as runner:
        runner.run(run())
        loop = runner.get_loop()
    assert isinstance(loop, Counting)
    assert loop.timers == 1
