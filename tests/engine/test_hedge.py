"""A second attempt beside one that is slow to begin: one answer, and the loser's connection is closed."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from deltawire import Timeouts, function
from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Event, Finished, Reasoning, Started, Text
from deltawire.engine.breaker import BreakerSettings
from deltawire.engine.engine import Engine
from deltawire.engine.plan import Model, Plan
from deltawire.providers.scripted import Scripted, Step
from tests.engine.stage import Stage, collected, request, stage
from tests.providers.asking import provider_at
from tests.upstream import Gate, Upstream, answer, done, finish, head, never_accepting_port, silence, text
from tests.upstream import Step as Played

pytestmark = pytest.mark.anyio

HI = request(words="hi")
DOWN = RunError(Reason.upstream_error, "down")


@function(
    models=["a:first", "b:second"],
    hedge_after=0.03,
    retries=0,
    timeouts=Timeouts(connect=0.15, first_token=0.4, total=5),
)
def pair(words: str) -> str:
    return words


@function(model="a:first", hedge_after=0.03, retries=0)
def same(words: str) -> str:
    return words


def never() -> asyncio.Event:
    return asyncio.Event()


def answered(events: list[Event]) -> tuple[str, str, int]:
    """The one clean answer: the model that gave it, its text, and the attempts."""
    [started, *texts, finished] = events
    assert isinstance(started, Started)
    assert isinstance(finished, Finished)
    return started.model, "".join(text.text for text in texts if isinstance(text, Text)), finished.attempts


def tasks() -> int:
    return len(asyncio.all_tasks())


async def test_it_is_off_unless_a_function_says_so() -> None:
    @function
    def usual(words: str) -> str:
        return words

    assert usual.settings.hedge_after is None


async def test_a_model_that_begins_in_time_is_asked_alone() -> None:
    gate = never()
    a, b = Scripted("hel", gate, "lo"), Scripted("unused")
    asyncio.get_running_loop().call_later(0.1, gate.set)
    async with stage([pair], a=a, b=b) as on:
        assert answered(await on.events("pair", HI)) == ("a:first", "hello", 1)
        assert b.attempts == []


async def test_the_next_model_that_is_quicker_is_the_answer_and_the_slow_one_is_broken_off() -> None:
    a, b = Scripted(never()), Scripted("hel", "lo")
    async with stage([pair], a=a, b=b) as on:
        before = tasks()
        assert answered(await on.events("pair", HI)) == ("b:second", "hello", 2)
        assert (a.closed_early, b.closed_early) == (1, 0)
        assert (on.record.model, on.record.attempts) == ("b:second", 2)
        assert tasks() == before


async def test_the_slow_model_may_still_win() -> None:
    gate = never()
    a, b = Scripted(gate, "hello"), Scripted(never())
    asyncio.get_running_loop().call_later(0.1, gate.set)
    async with stage([pair], a=a, b=b) as on:
        assert answered(await on.events("pair", HI)) == ("a:first", "hello", 2)
        assert (a.closed_early, b.closed_early) == (0, 1)


async def test_the_loser_is_closed_before_the_answer_is_over() -> None:
    gate = never()
    a, b = Scripted(never()), Scripted("hel", gate, "lo")
    async with stage([pair], a=a, b=b) as on:
        events = on.arrive().events("pair", HI)
        assert isinstance(await anext(events), Started)
        await asyncio.sleep(0)
        assert a.closed_early == 1
        gate.set()
        assert isinstance([event async for event in events][-1], Finished)


async def test_a_function_with_one_model_asks_it_twice() -> None:
    a = Scripted("hello")
    a.say(never())
    async with stage([same], a=a) as on:
        assert answered(await on.events("same", HI)) == ("a:first", "hello", 2)


async def test_reasoning_is_content() -> None:
    a, b = Scripted(Reasoning("hm"), never()), Scripted("unused")
    async with stage([pair], a=a, b=b) as on:
        run = on.arrive()
        asyncio.get_running_loop().call_later(0.1, run.cancel)
        await collected(run, "pair", HI)
        assert b.attempts == []


async def test_a_failure_before_the_second_attempt_is_what_it_is_without_one() -> None:
    a, b = Scripted(DOWN), Scripted("hello")
    async with stage([pair], a=a, b=b) as on:
        assert answered(await on.events("pair", HI)) == ("b:second", "hello", 2)


@pytest.mark.parametrize("step", [DOWN, RunError(Reason.upstream_rejected, "too long")], ids=["down", "rejected"])
async def test_a_second_attempt_that_fails_leaves_the_first_alone(step: Step) -> None:
    gate = never()
    a, b = Scripted(gate, "hello"), Scripted(step)
    asyncio.get_running_loop().call_later(0.1, gate.set)
    async with stage([pair], a=a, b=b) as on:
        assert answered(await on.events("pair", HI)) == ("a:first", "hello", 2)


async def test_a_first_attempt_that_fails_leaves_the_second_alone() -> None:
    fails, answers = never(), never()
    a, b = Scripted(fails, DOWN), Scripted(answers, "hello")
    loop = asyncio.get_running_loop()
    loop.call_later(0.1, fails.set)
    loop.call_later(0.2, answers.set)
    async with stage([pair], a=a, b=b) as on:
        assert answered(await on.events("pair", HI)) == ("b:second", "hello", 2)


async def test_what_is_wrong_with_the_call_ends_both() -> None:
    gate = never()
    a, b = Scripted(gate, RunError(Reason.upstream_rejected, "too long")), Scripted(never())
    asyncio.get_running_loop().call_later(0.1, gate.set)
    async with stage([pair], a=a, b=b) as on:
        assert (await on.error("pair", HI)).reason is Reason.upstream_rejected
        assert b.closed_early == 1


async def test_two_failures_are_one() -> None:
    a, b = Scripted(never()), Scripted(DOWN)
    async with stage([pair], a=a, b=b) as on:
        error = await on.error("pair", HI)
        assert (error.reason, on.record.attempts) == (Reason.first_token_timeout, 2)
        assert error.message == "the model said nothing within 0.4 s (limit: first_token)"


async def test_after_content_there_is_no_other_attempt() -> None:
    a, b = Scripted(never()), Scripted("hel", DOWN)
    async with stage([pair], a=a, b=b) as on:
        [*_, error] = await on.events("pair", HI)
        assert isinstance(error, Error)
        assert (error.reason, error.partial, on.record.attempts) == (Reason.upstream_error, True, 2)


@pytest.mark.parametrize("leave_after", [0.0, 0.01, 0.05, 0.1])
async def test_a_caller_who_leaves_leaves_nothing_behind(leave_after: float) -> None:
    a, b = Scripted(never()), Scripted(never())
    async with stage([pair], a=a, b=b) as on:
        before = tasks()
        run = on.arrive()
        asyncio.get_running_loop().call_later(leave_after, run.cancel)
        [error] = await collected(run, "pair", HI)
        assert isinstance(error, Error)
        assert error.reason is Reason.canceled
        assert a.closed_early + b.closed_early == len(a.attempts) + len(b.attempts)
        assert tasks() == before


@pytest.mark.parametrize("leave_after", [0.0, 0.01, 0.05, 0.1])
async def test_a_task_that_is_cancelled_leaves_nothing_behind(leave_after: float) -> None:
    a, b = Scripted(never()), Scripted(never())
    async with stage([pair], a=a, b=b) as on:
        before = tasks()
        task = asyncio.create_task(collected(on.arrive(), "pair", HI))
        await asyncio.sleep(leave_after)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert a.closed_early + b.closed_early == len(a.attempts) + len(b.attempts)
        assert tasks() == before


async def test_the_limit_of_the_whole_run_ends_both() -> None:
    a, b = Scripted(never()), Scripted(never())
    async with stage([pair], a=a, b=b) as on:
        error = await on.error("pair", request(words="hi", timeout=0.1))
        assert (error.reason, a.closed_early, b.closed_early) == (Reason.total_timeout, 1, 1)


async def test_silence_in_the_middle_of_the_answer_is_still_found() -> None:
    @function(models=["a:first", "b:second"], hedge_after=0.02, timeouts=Timeouts(idle=0.05))
    def fallen(words: str) -> str:
        return words

    a, b = Scripted(never()), Scripted("hel", never())
    async with stage([fallen], a=a, b=b) as on:
        assert (await on.error("fallen", HI)).reason is Reason.idle_timeout
        assert b.closed_early == 1


async def test_a_model_that_is_left_alone_is_no_second() -> None:
    gate = never()
    a, b = Scripted(gate, "hello"), Scripted("unused")
    b.say(DOWN)

    @function(model="b:second", retries=0)
    def other(words: str) -> str:
        return words

    async with stage([pair, other], breaker=BreakerSettings(failures=1, pause=1000), a=a, b=b) as on:
        await on.error("other", HI)
        asyncio.get_running_loop().call_later(0.1, gate.set)
        assert answered(await on.events("pair", HI)) == ("a:first", "hello", 2)
        assert (len(a.attempts), len(b.attempts)) == (2, 1)


async def test_a_loser_says_nothing_about_its_model() -> None:
    a, b = Scripted(never()), Scripted("hello")
    async with stage([pair], breaker=BreakerSettings(failures=1, pause=1000), a=a, b=b) as on:
        for _ in range(3):
            await on.finished("pair", HI)
        assert len(a.attempts) == 3


# On the wire.


@asynccontextmanager
async def wired(first: str, second: str) -> AsyncGenerator[Stage, None]:
    """``pair`` with its two models on these servers."""
    async with stage([pair], a=Scripted(), b=Scripted()) as on, provider_at(first) as a, provider_at(second) as b:
        way = on.engine.plan("pair").ways[0]
        patient = way.options.model_copy(update={"timeouts": Timeouts(connect=0.15, first_token=5)})
        way = replace(way, options=patient, models=(Model("a:m", "m", a), Model("b:m", "m", b)))
        on.engine = Engine({"pair": Plan(pair, (way,))}, on.engine.observers, on.engine.pool)
        yield on


@pytest.mark.parametrize("window", [[silence()], [head(), silence()]], ids=["no reply", "no content"])
async def test_the_losers_connection_is_closed_while_the_answer_goes_on(window: list[Played]) -> None:
    gate = Gate()
    async with Upstream() as slow, Upstream() as quick, wired(slow.base_url, quick.base_url) as on:
        slow.script(*window)
        quick.script(head(), text("hel"), gate.wait(), text("lo"), finish(), done())
        run = asyncio.create_task(on.events("pair", HI))
        await (await slow.requested()).client_left(within=1.0)
        await gate.reached()
        gate.open()
        assert answered(await run) == ("b:m", "hello", 2)


async def test_both_connections_are_closed_when_the_caller_leaves() -> None:
    async with Upstream() as slow, Upstream() as other, wired(slow.base_url, other.base_url) as on:
        slow.script(silence())
        other.script(head(), silence())
        run = on.arrive()
        events = asyncio.create_task(collected(run, "pair", HI))
        first, second = await slow.requested(), await other.requested()
        run.cancel()
        await events
        await first.client_left(within=1.0)
        await second.client_left(within=1.0)


async def test_a_second_server_that_accepts_nobody_does_not_end_the_first() -> None:
    gate = Gate()
    with never_accepting_port() as port:
        async with Upstream() as slow, wired(slow.base_url, f"http://127.0.0.1:{port}/v1") as on:
            slow.script(gate.wait(), answer("hello"))
            asyncio.get_running_loop().call_later(0.3, gate.open)  # after its connect limit
            assert answered(await on.events("pair", HI)) == ("a:m", "hello", 2)


async def test_a_first_server_that_accepts_nobody_does_not_end_the_second() -> None:
    gate = Gate()
    with never_accepting_port() as port:
        async with Upstream() as quick, wired(f"http://127.0.0.1:{port}/v1", quick.base_url) as on:
            quick.script(gate.wait(), answer("hello"))
            asyncio.get_running_loop().call_later(0.3, gate.open)
            assert answered(await on.events("pair", HI)) == ("b:m", "hello", 2)


async def test_two_servers_that_accept_nobody_end_in_the_connect_limit() -> None:
    with never_accepting_port() as one, never_accepting_port() as two:
        async with wired(f"http://127.0.0.1:{one}/v1", f"http://127.0.0.1:{two}/v1") as on:
            error = await on.error("pair", HI)
            assert (error.reason, on.record.attempts) == (Reason.connect_timeout, 2)


async def test_whatever_becomes_of_the_two_and_whenever_the_caller_leaves_nothing_is_left_behind() -> None:
    chance = random.Random(7)
    rejected = RunError(Reason.upstream_rejected, "too long")

    def script() -> list[Step]:
        ends: list[list[Step]] = [[], [DOWN], [rejected], [never()], ["hel", DOWN], ["hel", never()], ["hello"]]
        gate = never()
        asyncio.get_running_loop().call_later(chance.random() * 0.06, gate.set)
        return [gate, *chance.choice(ends)]

    a, b = Scripted(), Scripted()
    async with stage([pair], a=a, b=b, breaker=BreakerSettings(failures=0)) as on:
        before = tasks()
        ends: list[asyncio.Task[list[Event]]] = []
        for _ in range(300):
            a.say(*script())
            b.say(*script())
            run = on.arrive()
            task = asyncio.create_task(collected(run, "pair", HI))
            leave = chance.choice([run.cancel, task.cancel, None])
            if leave is not None:
                asyncio.get_running_loop().call_later(chance.random() * 0.1, leave)
            ends.append(task)
        done, pending = await asyncio.wait(ends, timeout=10)
        assert not pending
        assert tasks() == before
        for task in done:
            if not task.cancelled():
                events = task.result()
                assert [isinstance(event, Finished | Error) for event in events] == [False] * (len(events) - 1) + [True]
                assert len({event.text for event in events if isinstance(event, Text)}) <= 1
        assert len(on.records) == 300
