"""Connections: reused after a whole reply, closed after anything else, and never more than there are attempts."""

import asyncio
from contextlib import aclosing

import pytest

from deltawire.domain.errors import Reason
from deltawire.domain.events import Text
from tests.providers.asking import Signs, ask, attempt, first_piece, provider_at
from tests.upstream import (
    Gate,
    Step,
    Upstream,
    answer,
    body,
    comment,
    delay,
    done,
    end,
    error_reply,
    finish,
    head,
    reset,
    silence,
    text,
    together,
    usage,
)

pytestmark = pytest.mark.anyio

GOOD = answer("a")


async def test_whole_replies_with_trailing_bytes_reuse_one_connection() -> None:
    trailing = (text("a"), finish(), usage(9, 2), done(), comment("bye"), body(b"data: late\n\n"))
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        for number in range(50):
            upstream.script(head(), *trailing) if number % 2 else upstream.script(head(), together(*trailing))
            assert (await ask(provider)).text == "a"
            await upstream.exchanges[-1].finished()
        assert upstream.most_open <= 2
        assert upstream.accepted <= 10  # the next attempt may begin before the last bytes are drained


async def test_refusals_leave_no_connection_behind() -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.always(error_reply(429))
        for _ in range(50):
            assert (await ask(provider)).failure.reason is Reason.upstream_rate_limited
        assert upstream.most_open <= 2
        upstream.script(GOOD)
        assert (await asyncio.wait_for(ask(provider), 10)).text == "a"


async def test_callers_who_leave_after_the_first_piece_close_their_connection() -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.always(head(), text("a"), silence())
        for _ in range(50):
            assert await first_piece(provider, Signs()) == Text("a")
            await (await upstream.requested()).client_left()
        assert (upstream.accepted, upstream.open) == (50, 0)


async def test_callers_whose_task_is_cancelled_close_their_connection() -> None:
    gate = Gate()
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.always(head(), gate.wait())
        for number in range(50):
            task = asyncio.create_task(ask(provider))
            await gate.reached(number + 1)
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            await (await upstream.requested()).client_left()
        assert upstream.open == 0


async def test_a_caller_that_fails_at_a_piece_closes_its_connection() -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.always(head(), text("a"), silence())
        for _ in range(50):
            with pytest.raises(ZeroDivisionError):
                await ask(provider, after_first=_fail)
            await (await upstream.requested()).client_left()
        assert upstream.open == 0


async def test_sockets_that_a_server_keeps_open_after_the_end_marker_are_closed_soon() -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.always(head(), text("a"), finish(), done(), silence())
        for _ in range(50):
            assert (await ask(provider)).text == "a"
        await upstream.all_left(within=3)


async def test_a_hundred_attempts_at_once_wait_for_no_pool() -> None:
    gate = Gate()
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.always(head(), gate.wait(), text("a"), finish(), done())
        tasks = [asyncio.create_task(ask(provider)) for _ in range(100)]
        await gate.reached(100)
        gate.open()
        assert {heard.text for heard in await asyncio.gather(*tasks)} == {"a"}


async def test_a_pooled_connection_that_the_server_closed_is_not_used() -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.always(GOOD)
        assert (await ask(provider)).text == "a"
        await upstream.exchanges[-1].finished()
        await upstream.close_idle()
        for _ in range(5):  # turns of the loop, in which the client hears of the close
            await asyncio.sleep(0)
        heard = await ask(provider)
        assert (heard.text, upstream.accepted, len(upstream.requests)) == ("a", 2, 2)
        assert heard.signs.connecting_seen == heard.signs.connected_seen == 1


async def test_a_reused_connection_is_no_connecting() -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.always(GOOD)
        assert (await ask(provider)).signs.connecting_seen == 1
        await upstream.exchanges[-1].finished()
        await asyncio.sleep(0)  # the last bytes are drained
        assert (await ask(provider)).signs.connecting_seen == upstream.accepted - 1


async def test_a_kept_connection_that_its_server_had_closed_is_replaced_within_the_attempt() -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.always(GOOD)
        for _ in range(20):
            assert (await ask(provider)).text == "a"
            await upstream.exchanges[-1].finished()
            upstream.drop_next_reuse()
        assert len(upstream.requests) == 20  # what was dropped is in no count: none of it was read
        assert upstream.dropped > 5


async def test_a_request_that_was_taken_on_a_kept_connection_and_lost_later_is_not_sent_again() -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.script(head(), together(text("a"), finish(), usage(9, 2), done(), end()))
        assert (await ask(provider)).text == "a"
        await upstream.exchanges[-1].finished()
        upstream.script(delay(0.4), reset())
        heard = await ask(provider)
        assert heard.signs.connecting_seen == 0, "the connection was not a kept one"
        assert (heard.failure.reason, heard.failure.retry_safe) == (Reason.outcome_unknown, False)
        assert len(upstream.requests) == 2


async def test_without_keep_alive_each_attempt_has_a_connection_of_its_own() -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url, keep_alive=0) as provider:
        upstream.always(GOOD)
        for _ in range(5):
            assert (await ask(provider)).signs.connecting_seen == 1
        assert upstream.accepted == 5


@pytest.mark.parametrize("after", [[silence()], [text("b"), silence()]])
async def test_closing_the_provider_ends_what_is_still_drained(after: list[Step]) -> None:
    async with Upstream() as upstream:
        async with provider_at(upstream.base_url) as provider:
            upstream.script(head(), text("a"), finish(), done(), *after)
            assert (await ask(provider)).text == "a"
        await upstream.all_left()


async def test_closing_a_provider_that_was_never_asked_is_nothing() -> None:
    async with provider_at("http://127.0.0.1:1/v1") as provider:
        await provider.close()


async def test_a_slow_reader_slows_the_server() -> None:
    megabytes = 64
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        event = text("x" * 1024 * 1024)
        upstream.script(head(), text("first"), *[event] * megabytes, finish(), done())
        async with aclosing(provider.stream(attempt(Signs()))) as pieces:
            assert await anext(pieces) == Text("first")
            exchange = await upstream.requested()
            sent = -1
            while exchange.sent != sent:  # until the kernel takes no more
                sent = exchange.sent
                await asyncio.sleep(0.05)
            assert sent < megabytes * 1024 * 1024 / 2
        await exchange.client_left()


async def _fail() -> None:
    raise ZeroDivisionError
