"""Places for runs: who gets none, and that each is free again, however its run has ended."""

import asyncio
from contextlib import aclosing

import pytest

from deltawire import function
from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Finished
from deltawire.domain.run import RunRecord
from deltawire.engine.admission import Admission
from deltawire.engine.engine import Engine, Run
from tests.engine.stage import Stage, collected, request, stage

pytestmark = pytest.mark.anyio

HI = request(words="hi")
_MOMENTS = 12
"""Turns of the loop, of which a run of the script takes fewer."""


@function(inline=True, retries=0)
def say(words: str) -> str:
    return words


@function(retries=0)
async def fails(words: str) -> str:
    raise RuntimeError(f"fails on purpose: {words}")


def _reads(run: Run) -> None:
    run.admit()
    raise RecursionError


class Breaks:
    """An observer with a fault of its own."""

    def ended(self, record: RunRecord) -> None:
        raise ValueError(f"fails on purpose: {record.run_id}")


def limited(on: Stage, most: int) -> Admission:
    on.engine = Engine(on.engine.plans, on.engine.observers, on.engine.pool, Admission(most))
    return on.engine.admission


async def test_one_run_more_than_there_may_be_is_refused_at_once() -> None:
    async with stage([say], "a", asyncio.Event()) as on:
        admission = limited(on, 2)
        first, second = (on.arrive().events("say", HI) for _ in range(2))
        async with aclosing(first), aclosing(second):
            for events in (first, second):
                await anext(events)
            error = await on.error("say", HI)
            assert (error.reason, error.retry_after, error.partial) == (Reason.overloaded, 1.0, False)
            assert error.message == "the server has as many runs under way as it may have: 2 (max_runs)"
            assert admission.under_way == 2
        assert admission.under_way == 0
        assert len(on.provider.attempts) == 2


async def test_a_place_is_free_when_the_caller_hears_of_the_end() -> None:
    async with stage([say, fails], "a") as on:
        limited(on, 1)
        for name in ("say", "fails", "none") * 3:
            async with aclosing(on.arrive().events(name, HI)) as events:
                async for event in events:
                    if isinstance(event, Finished | Error):
                        assert on.engine.admission.under_way == 0


@pytest.mark.parametrize("moment", range(_MOMENTS))
@pytest.mark.parametrize("how", ["the run", "the task"])
async def test_whoever_cancels_at_whatever_moment_frees_the_place(moment: int, how: str) -> None:
    async with stage([say], "a", "b") as on:
        admission = limited(on, 1)
        run = on.arrive()
        playing = asyncio.create_task(collected(run, "say", HI))
        for _ in range(moment):
            await asyncio.sleep(0)
        if how == "the run":
            run.cancel()
        else:
            playing.cancel()
        await asyncio.wait([playing], timeout=5)
        assert admission.under_way == 0
        assert await on.finished("say", HI)


async def test_a_request_that_is_not_completed_frees_its_place_and_is_observed() -> None:
    async with stage([say], "a") as on:
        admission = limited(on, 1)
        arrived = asyncio.Event()

        async def receiving() -> None:
            with on.arrive() as run:
                run.admit()
                arrived.set()
                await asyncio.Event().wait()

        receives = asyncio.create_task(receiving())
        await arrived.wait()
        with pytest.raises(RunError) as refused:
            on.arrive().admit()
        assert refused.value.reason is Reason.overloaded
        receives.cancel()
        await asyncio.wait([receives], timeout=5)
        assert admission.under_way == 0
        on.assert_canceled()


async def test_a_fault_while_a_request_is_read_frees_its_place_and_is_observed() -> None:
    async with stage([say], "a") as on:
        admission = limited(on, 1)
        with pytest.raises(RecursionError), on.arrive() as run:
            _reads(run)
        assert admission.under_way == 0
        assert on.record.outcome is Reason.internal


async def test_a_run_takes_one_place_and_frees_it_once() -> None:
    async with stage([say], "a") as on:
        admission = limited(on, 5)
        with on.arrive() as run:
            run.admit()
            run.admit()
            assert admission.under_way == 1
            assert isinstance((await collected(run, "say", HI))[-1], Finished)
            assert admission.under_way == 0
            run.refuse(RunError(Reason.internal, "late"))
        assert admission.under_way == 0


async def test_an_observer_with_a_fault_keeps_no_place() -> None:
    async with stage([say], "a") as on:
        on.engine = Engine(on.engine.plans, [Breaks()], on.engine.pool, Admission(1))
        error = (await collected(on.arrive(), "say", HI))[-1]
        assert isinstance(error, Error)
        assert on.engine.admission.under_way == 0


async def test_a_refusal_takes_no_place() -> None:
    async with stage([say], "a") as on:
        admission = limited(on, 1)
        on.arrive().refuse(RunError(Reason.unknown_path, "no such path"))
        assert admission.under_way == 0


async def test_without_a_limit_there_may_be_any_number() -> None:
    async with stage([say], "a") as on:
        on.engine = Engine(on.engine.plans, on.engine.observers, on.engine.pool)
        runs = [collected(on.arrive(), "say", HI) for _ in range(1500)]
        assert all(isinstance(events[-1], Finished) for events in await asyncio.gather(*runs))
