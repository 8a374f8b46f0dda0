"""A model that fails again and again is left alone, and is asked by all again when one run has found it well."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import pytest

from deltawire import Timeouts, function
from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Finished, Started, Text
from deltawire.engine.breaker import Breaker, BreakerSettings, Trial
from deltawire.engine.engine import Engine
from deltawire.engine.plan import Model
from deltawire.providers.scripted import Scripted
from tests.engine.stage import collected, one_way, request, stage
from tests.providers.asking import provider_at
from tests.upstream import Gate, Upstream, answer, head, reset, text
from tests.upstream import Step as Played

pytestmark = pytest.mark.anyio

HI = request(words="hi")
DOWN = RunError(Reason.upstream_error, "down")
AT_ONCE = BreakerSettings(failures=2, pause=1000)


class Clock:
    """Each look at it takes a moment."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker("a:m", BreakerSettings(failures=3, pause=5), clock)


def fail(breaker: Breaker, times: int = 1, reason: Reason = Reason.upstream_error) -> None:
    for _ in range(times):
        breaker.admit().failed(reason)


def is_shut(breaker: Breaker) -> bool:
    try:
        breaker.admit()
    except RunError:
        return True
    return False


@pytest.mark.parametrize(
    "reason",
    [
        Reason.upstream_unreachable,
        Reason.upstream_error,
        Reason.upstream_truncated,
        Reason.upstream_invalid,
        Reason.outcome_unknown,
        Reason.connect_timeout,
        Reason.first_token_timeout,
        Reason.idle_timeout,
    ],
)
async def test_failures_that_say_that_a_model_is_ill_open_it(breaker: Breaker, reason: Reason) -> None:
    fail(breaker, 2, reason)
    assert not is_shut(breaker)
    fail(breaker, 1, reason)
    assert is_shut(breaker)


async def test_no_other_failure_opens_it(breaker: Breaker) -> None:
    ill = ("upstream_unreachable", "upstream_error", "upstream_truncated", "upstream_invalid", "outcome_unknown")
    limits = ("connect_timeout", "first_token_timeout", "idle_timeout")
    for reason in Reason:
        if reason not in (*ill, *limits):
            fail(breaker, 20, reason)
            assert not is_shut(breaker), reason


async def test_a_whole_answer_among_the_failures_keeps_it_closed(breaker: Breaker) -> None:
    for _ in range(10):
        fail(breaker, 2)
        breaker.admit().completed()
    assert not is_shut(breaker)


async def test_a_beginning_alone_is_no_answer(breaker: Breaker) -> None:
    for _ in range(3):
        trial = breaker.admit()
        trial.answered()
        trial.failed(Reason.upstream_truncated)
    assert is_shut(breaker)


async def test_what_breaks_off_many_answers_at_once_is_one_failure(breaker: Breaker) -> None:
    trials = [breaker.admit() for _ in range(100)]
    for trial in trials:
        trial.failed(Reason.upstream_truncated)
    assert not is_shut(breaker)
    fail(breaker, 2)
    assert is_shut(breaker)


async def test_each_of_many_silences_counts(breaker: Breaker) -> None:
    trials = [breaker.admit() for _ in range(3)]
    for trial in trials:
        trial.failed(Reason.first_token_timeout)
    assert is_shut(breaker)


async def test_it_says_how_long_it_is_shut_in_whole_seconds(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 1.5
    with pytest.raises(RunError) as shut:
        breaker.admit()
    assert shut.value.retry_after == 4.0


async def test_after_the_pause_one_run_asks_and_its_first_content_opens_the_door_for_all(
    breaker: Breaker, clock: Clock
) -> None:
    fail(breaker, 3)
    clock.now += 5
    probe = breaker.admit()
    assert [is_shut(breaker) for _ in range(3)] == [True] * 3
    probe.answered()
    assert [is_shut(breaker) for _ in range(3)] == [False] * 3


@pytest.mark.parametrize("reason", [Reason.upstream_rejected, Reason.upstream_rate_limited, Reason.content_filter])
async def test_a_refusal_is_a_sign_of_life(breaker: Breaker, clock: Clock, reason: Reason) -> None:
    fail(breaker, 3)
    clock.now += 5
    breaker.admit().failed(reason)
    assert not is_shut(breaker)


async def test_a_run_that_finds_it_ill_shuts_it_for_another_pause(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    for _ in range(3):
        clock.now += 5
        probe = breaker.admit()
        clock.now += 3
        probe.failed(Reason.upstream_error)
        clock.now += 4.9
        assert is_shut(breaker)


async def test_a_run_that_never_comes_back_costs_one_pause(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 5
    breaker.admit()
    assert is_shut(breaker)
    clock.now += 5
    assert not is_shut(breaker)


def _answers(trial: Trial) -> None:
    trial.answered()


def _fails(trial: Trial) -> None:
    trial.failed(Reason.upstream_error)


@pytest.mark.parametrize("late", [_answers, _fails])
async def test_what_was_asked_before_a_turn_says_nothing_after_it(
    breaker: Breaker, clock: Clock, late: Callable[[Trial], None]
) -> None:
    old = [breaker.admit() for _ in range(5)]
    fail(breaker, 3)
    late(old[0])
    assert is_shut(breaker)
    clock.now += 5
    breaker.admit().answered()
    for trial in old:
        trial.failed(Reason.first_token_timeout)
    assert not is_shut(breaker)


async def test_without_failures_to_count_it_never_opens() -> None:
    breaker = Breaker("a:m", BreakerSettings(failures=0))
    fail(breaker, 1000)
    assert not is_shut(breaker)


# In the engine.


@function(model="a:first", retries=0)
def alone(words: str) -> str:
    return words


@function(model="a:first", retries=0)
def beside(words: str) -> str:
    return words


@function(models=["a:first", "b:second", "c:third"], retries=0, timeouts=Timeouts(first_token=0.05))
def spare(words: str) -> str:
    return words


@function(model="a:first", retries=10)
def stubborn(words: str) -> str:
    return words


async def test_a_model_that_is_left_alone_is_not_asked_whatever_function_runs_on_it() -> None:
    a = Scripted(DOWN)
    async with stage([alone, beside], breaker=AT_ONCE, a=a) as on:
        assert [(await on.error(name, HI)).reason for name in ("alone", "beside")] == [Reason.upstream_error] * 2
        for name in ("alone", "beside"):
            error = await on.error(name, HI)
            assert (error.reason, error.retry_after) == (Reason.upstream_unreachable, 1000)
            assert (on.records[-1].attempts, on.records[-1].model) == (0, "a:first")
        assert len(a.attempts) == 2


async def test_the_next_model_is_asked_at_once_in_place_of_one_that_is_left_alone() -> None:
    a, b, c = Scripted(DOWN), Scripted("hello"), Scripted("unused")
    async with stage([spare], breaker=AT_ONCE, a=a, b=b, c=c) as on:
        runs = [await on.finished("spare", HI) for _ in range(4)]
        assert [run.attempts for run in runs] == [2, 2, 1, 1]
        assert (len(a.attempts), len(b.attempts), len(c.attempts)) == (2, 4, 0)


async def test_silence_counts_whether_or_not_there_is_another_model() -> None:
    @function(model="a:first", timeouts=Timeouts(first_token=0.02))
    def silent(words: str) -> str:
        return words

    a = Scripted(asyncio.Event())
    async with stage([spare, silent], breaker=AT_ONCE, a=a, b=Scripted("hello"), c=Scripted()) as on:
        await on.finished("spare", HI)
        assert (await on.error("silent", HI)).reason is Reason.first_token_timeout
        assert (await on.error("silent", HI)).reason is Reason.upstream_unreachable


async def test_silence_in_the_middle_of_answers_counts() -> None:
    @function(model="a:first", timeouts=Timeouts(idle=0.02))
    def silent(words: str) -> str:
        return words

    a = Scripted("hel", asyncio.Event())
    async with stage([silent], breaker=AT_ONCE, a=a) as on:
        outcomes = [(await on.error("silent", HI)).reason for _ in range(3)]
        assert outcomes == [Reason.idle_timeout, Reason.idle_timeout, Reason.upstream_unreachable]


async def test_a_failure_that_is_known_is_told_rather_than_that_others_are_left_alone() -> None:
    a, b, c = Scripted(DOWN), Scripted(DOWN), Scripted(RunError(Reason.upstream_auth, "bad key"))
    async with stage([spare], breaker=AT_ONCE, a=a, b=b, c=c) as on:
        told = [(await on.error("spare", HI)).message for _ in range(3)]
        assert told == ["bad key"] * 3
        assert [record.attempts for record in on.records] == [3, 3, 1]


async def test_a_model_that_is_found_ill_meanwhile_is_not_tried_again() -> None:
    a = Scripted(RunError(Reason.upstream_error, "busy", retry_after=0.01, retry_safe=True))
    async with stage([stubborn], breaker=AT_ONCE, a=a) as on:
        error = await on.error("stubborn", HI)
        assert (error.message, len(a.attempts)) == ("busy", 2)


async def test_callers_who_leave_say_nothing_about_a_model() -> None:
    a = Scripted("hel", asyncio.Event())
    async with stage([alone], breaker=BreakerSettings(failures=1), a=a) as on:
        for leave in ("close", "cancel"):
            run = on.arrive()
            async with aclosing(run.events("alone", HI)) as events:
                assert isinstance(await anext(events), Started)
                assert await anext(events) == Text("hel")
                if leave == "cancel":
                    run.cancel()
                    await anext(events)
        a.say("hello")
        await on.finished("alone", HI)


async def test_a_limit_that_callers_choose_says_nothing_about_a_model() -> None:
    a = Scripted(asyncio.Event())
    async with stage([alone], breaker=BreakerSettings(failures=1), a=a) as on:
        for _ in range(3):
            hasty = request(words="hi", timeout=0.01)
            assert (await on.error("alone", hasty)).reason is Reason.total_timeout


async def test_a_model_that_is_well_again_is_asked_by_all() -> None:
    a = Scripted("hello")
    a.say(DOWN)
    async with stage([alone], breaker=BreakerSettings(failures=1, pause=0.05), a=a) as on:
        await on.error("alone", HI)
        assert (await on.error("alone", HI)).reason is Reason.upstream_unreachable
        await asyncio.sleep(0.06)
        ends = await asyncio.gather(*(collected(on.arrive(), "alone", HI) for _ in range(2)))
        assert sum(isinstance(end[-1], Finished) for end in ends) >= 1
        assert isinstance((await on.finished("alone", HI)), Finished)


async def test_no_pause_before_another_attempt_outlasts_the_caller_even_with_another_model() -> None:
    @function(models=["a:first", "b:second"], retries=2)
    def hurried(words: str) -> str:
        return words

    a = Scripted(RunError(Reason.upstream_rate_limited, "busy", retry_after=0.8, retry_safe=True))
    async with stage([hurried], a=a, b=Scripted("hello")) as on:
        assert (await on.finished("hurried", request(words="hi", timeout=0.5))).attempts == 2


@pytest.mark.parametrize("window", [[], [head()], [head(), text("hel")]], ids=["no reply", "no content", "no end"])
async def test_a_server_that_is_killed_under_many_runs_and_comes_back_works_for_the_next(window: list[Played]) -> None:
    async with Upstream() as upstream, stage([alone], a=Scripted()) as on, provider_at(upstream.base_url) as provider:
        model = Model("up:m", "m", provider, Breaker("up:m", BreakerSettings()))
        on.engine = Engine({"alone": one_way(alone, model)}, on.engine.observers, on.engine.pool)
        gates = [Gate() for _ in range(20)]
        for gate in gates:
            upstream.script(*window, gate.wait(), reset())
        runs = [asyncio.create_task(collected(on.arrive(), "alone", HI)) for _ in gates]
        for gate in gates:
            await gate.reached()
        for gate in gates:
            gate.open()
        ends = [(await run)[-1] for run in runs]
        assert all(isinstance(end, Error) for end in ends)
        upstream.script(answer("hello"))
        await on.finished("alone", HI)


async def test_answers_that_break_off_one_after_another_count() -> None:
    a = Scripted("hel", RunError(Reason.upstream_truncated, "cut"))
    async with stage([alone], breaker=AT_ONCE, a=a) as on:
        outcomes = [(await on.error("alone", HI)).reason for _ in range(3)]
        assert outcomes == [Reason.upstream_truncated] * 2 + [Reason.upstream_unreachable]


async def test_a_whole_answer_among_the_failures_keeps_the_model_asked() -> None:
    a = Scripted("hello")
    async with stage([alone], breaker=AT_ONCE, a=a) as on:
        for _ in range(3):
            a.say(DOWN)
            assert (await on.error("alone", HI)).reason is Reason.upstream_error
            await on.finished("alone", HI)
