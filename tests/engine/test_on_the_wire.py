"""Runs whose model is a server on a real socket: what is tried again, what is not, and what ends with its caller."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

import pytest
from pydantic import BaseModel

from deltawire import function
from deltawire.domain.errors import Reason
from deltawire.domain.events import Error, Finished, Text
from deltawire.domain.limits import Timeouts
from deltawire.engine.engine import Engine
from deltawire.engine.plan import Model
from tests.engine.stage import Stage, collected, one_way, request, stage
from tests.providers.asking import provider_at
from tests.upstream import (
    Step,
    Upstream,
    answer,
    close,
    comment,
    completion,
    delay,
    done,
    error_reply,
    finish,
    head,
    never_accepting_port,
    refused_port,
    repeat,
    silence,
    text,
    together,
)

pytestmark = pytest.mark.anyio

HI = request(words="hi")
PING = together(delay(0.1), comment())


class Item(BaseModel):
    name: str


@function(timeouts=Timeouts(connect=0.1, first_token=0.5, idle=0.2, total=8))
def say(words: str) -> str:
    return words


@function
def calm(words: str) -> str:
    return words


@function(output=Item)
def item(words: str) -> str:
    return words


@asynccontextmanager
async def wired(base_url: str) -> AsyncGenerator[Stage, None]:
    async with stage([say, calm, item]) as on, provider_at(base_url) as provider:
        plans = {name: one_way(plan.function, Model("up:m", "m", provider)) for name, plan in on.engine.plans.items()}
        on.engine = Engine(plans, on.engine.observers, on.engine.pool)
        yield on


async def test_a_provider_that_asks_to_wait_is_asked_again_after_that_wait() -> None:
    async with Upstream() as upstream, wired(upstream.base_url) as on:
        later = error_reply(429, headers={"retry-after-ms": "300"})
        for script in ([later], [later], [answer("a")]):
            upstream.script(*script)
        finished = await on.finished("calm", HI)
        first, second, third = (exchange.arrived_at for exchange in upstream.exchanges)
        assert finished.attempts == 3
        assert min(second - first, third - second) >= 0.3


async def test_a_wait_of_a_day_is_told_and_not_waited_for() -> None:
    async with Upstream() as upstream, wired(upstream.base_url) as on:
        upstream.script(error_reply(429, headers={"retry-after": "86400"}))
        error = await asyncio.wait_for(on.error("say", HI), 20)
        assert (error.reason, error.retry_after, len(upstream.requests)) == (Reason.upstream_rate_limited, 86400, 1)


async def test_a_server_that_is_busy_is_asked_again() -> None:
    async with Upstream() as upstream, wired(upstream.base_url) as on:
        upstream.script(error_reply(503))
        upstream.script(answer("a"))
        assert (await on.finished("calm", HI)).attempts == 2


async def test_a_server_that_refuses_connections_is_tried_again() -> None:
    with refused_port() as port:
        async with wired(f"http://127.0.0.1:{port}/v1") as on:
            assert (await on.error("say", HI)).reason is Reason.upstream_unreachable
            assert on.record.attempts == 3


async def test_a_request_whose_outcome_is_unknown_is_sent_once() -> None:
    async with Upstream() as upstream, wired(upstream.base_url) as on:
        upstream.script(close())
        assert (await on.error("say", HI)).reason is Reason.outcome_unknown
        assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    "step",
    [
        error_reply(400, code="content_filter"),
        completion(None, refusal="cannot help"),
        completion("no JSON"),
    ],
    ids=["filtered", "refused", "invalid"],
)
async def test_an_answer_that_is_none_is_asked_for_once(step: Step) -> None:
    async with Upstream() as upstream, wired(upstream.base_url) as on:
        upstream.script(step)
        error = await on.error("item", HI)
        assert error.reason in (Reason.content_filter, Reason.refusal, Reason.output_invalid)
        assert len(upstream.requests) == 1


async def test_a_server_that_accepts_nobody_ends_in_the_connect_limit() -> None:
    with never_accepting_port() as port:
        async with wired(f"http://127.0.0.1:{port}/v1") as on:
            assert (await on.error("say", HI)).reason is Reason.connect_timeout


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([silence()], Reason.first_token_timeout),
        ([head(), silence()], Reason.first_token_timeout),
        ([head(), repeat(PING)], Reason.first_token_timeout),
        ([head(), text("a"), silence()], Reason.idle_timeout),
    ],
    ids=["no reply", "no content", "heartbeats alone", "silence in the middle"],
)
async def test_a_server_that_falls_silent_is_left(steps: list[Step], reason: Reason) -> None:
    async with Upstream() as upstream, wired(upstream.base_url) as on:
        upstream.script(*steps)
        assert (await on.error("say", HI)).reason is reason
        await (await upstream.requested()).client_left()


async def test_heartbeats_of_a_server_keep_a_silent_answer_alive() -> None:
    async with Upstream() as upstream, wired(upstream.base_url) as on:
        upstream.script(head(), text("a"), repeat(PING, 5), text("b"), finish(), done())
        assert (await on.finished("say", HI)).attempts == 1


async def test_a_caller_who_leaves_closes_the_connection_to_the_server() -> None:
    async with Upstream() as upstream, wired(upstream.base_url) as on:
        upstream.always(head(), text("a"), silence())
        for leave in ("close", "cancel"):
            run = on.arrive()
            async with aclosing(run.events("say", HI)) as events:
                assert [await anext(events), await anext(events)][1] == Text("a")
                if leave == "cancel":
                    run.cancel()
                    assert isinstance(await anext(events), Error)
                    await (await upstream.requested()).client_left()
            if leave == "close":
                await (await upstream.requested()).client_left()


async def test_a_hundred_runs_at_once_keep_their_answers_apart() -> None:
    async with Upstream() as upstream, wired(upstream.base_url) as on:
        upstream.answer_with(lambda request: [answer(request.json["messages"][0]["content"])])
        runs = [collected(on.arrive(), "calm", request(words=f"w{n}"), whole=True) for n in range(100)]
        outputs = [events[-1] for events in await asyncio.gather(*runs)]
        assert [bytes(end.output or b"") for end in outputs if isinstance(end, Finished)] == [
            b'"w%d"' % n for n in range(100)
        ]
