"""Whatever way a server writes, cuts and frames its events, the same pieces come out."""

import asyncio
import resource
from contextlib import aclosing

import pytest

from deltawire.domain.errors import Reason
from deltawire.domain.events import FinishReason, Text, Usage
from deltawire.domain.ports import Completion
from tests.providers.asking import Heard, Signs, ask, ask_once, attempt, provider_at
from tests.upstream import (
    FRAMINGS,
    ChatStream,
    Gate,
    Step,
    Upstream,
    body,
    bytewise,
    close,
    comment,
    done,
    finish,
    head,
    repeat,
    text,
    together,
    usage,
)

pytestmark = pytest.mark.anyio

WORDS = 'é🙂好 line1\nline2\r\n\u2028 \u2029 \x85 \x0b\x0c data: x None [DONE] \x00 "\\'


def assert_whole(heard: Heard, expected: str) -> None:
    assert heard.error is None, heard.error
    assert heard.text == expected
    assert heard.completion == Completion(finish_reason=FinishReason.stop, usage=Usage(9, 2))


def stream_of(framing: ChatStream, *pieces: str) -> tuple[Step, ...]:
    return (
        framing.role(),
        *(framing.text(piece) for piece in pieces),
        framing.finish("stop"),
        framing.usage(9, 2),
        framing.done(),
    )


@pytest.mark.parametrize("framing", FRAMINGS.values(), ids=FRAMINGS)
async def test_every_framing_brings_the_same_answer_in_one_write(framing: ChatStream) -> None:
    async with Upstream() as upstream:
        upstream.script(head(), together(*stream_of(framing, "Hel", WORDS, "lo")))
        assert_whole(await ask_once(upstream), f"Hel{WORDS}lo")


@pytest.mark.parametrize("framing", FRAMINGS.values(), ids=FRAMINGS)
async def test_every_framing_brings_the_same_answer_byte_by_byte(framing: ChatStream) -> None:
    async with Upstream() as upstream:
        upstream.script(head(), bytewise(*stream_of(framing, WORDS)))
        heard = await ask_once(upstream)
        assert_whole(heard, WORDS)


async def test_a_character_that_the_end_cuts_is_a_truncated_reply() -> None:
    async with Upstream() as upstream:
        event = 'data: {"choices":[{"index":0,"delta":{"content":"é🙂好"}}]}\n\n'.encode()
        cut_off = event[: event.index("好".encode()) + 2]
        upstream.script(head(until_close=True), bytewise(body(cut_off)), close())
        heard = await ask_once(upstream)
        assert heard.failure.reason is Reason.upstream_truncated
        assert heard.pieces == []


@pytest.mark.parametrize("content_type", ["text/event-stream", "Text/Event-Stream; charset=latin-1"])
async def test_the_charset_of_the_header_changes_nothing(content_type: str) -> None:
    async with Upstream() as upstream:
        upstream.script(head(content_type=content_type), *stream_of(FRAMINGS["lf"], "a\u2028b\x85✅"))
        assert_whole(await ask_once(upstream), "a\u2028b\x85✅")


@pytest.mark.parametrize("name", ["cr", "crlf"])
async def test_an_event_is_out_before_the_next_one_is_sent(name: str) -> None:
    framing, gate = FRAMINGS[name], Gate()
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.script(head(), framing.text("a"), gate.wait(), framing.finish(), framing.done())
        async with aclosing(provider.stream(attempt(Signs()))) as pieces:
            assert await asyncio.wait_for(anext(pieces), 20) == Text("a")
            gate.open()
            assert [type(piece) async for piece in pieces] == [Completion]


async def test_keep_alives_of_every_kind_are_heard_but_bring_nothing() -> None:
    async with Upstream() as upstream:
        keep_alives = (b": still working\n\n", b":\n\n", b"retry: 1500\n\n", b"id: 7\n\n", b"data:\n\n")
        ping = body(b'data: {"type":"ping"}\n\n')
        upstream.script(
            head(), *map(body, keep_alives), ping, text("a"), comment(" ping"), text("b"), finish(), usage(9, 2), done()
        )
        heard = await ask_once(upstream)
        assert_whole(heard, "ab")
        assert heard.signs.received_seen >= len(keep_alives) + 3


async def test_one_leading_byte_order_mark_goes_and_a_later_one_stays() -> None:
    async with Upstream() as upstream:
        upstream.script(head(), body(b"\xef\xbb"), body(b"\xbf"), *stream_of(FRAMINGS["lf"], "\ufefffirst\ufeff"))
        assert_whole(await ask_once(upstream), "\ufefffirst\ufeff")


async def test_an_event_of_a_megabyte_and_a_half_is_delivered_whole() -> None:
    async with Upstream() as upstream:
        long = "0123456789abcdef" * (96 * 1024)
        upstream.script(head(), *stream_of(FRAMINGS["lf"], long))
        assert_whole(await ask_once(upstream), long)


@pytest.mark.parametrize("line", [b"x" * 65536, b"data: " + b"y" * 65529 + b"\n", b"data:\n" * 10000])
async def test_an_endless_event_fails_within_bounded_memory_and_closes(line: bytes) -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.script(head(), body(b"data: "), repeat(body(line), 200 * 1024 * 1024 // len(line)))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        failure = (await ask(provider)).failure
        assert failure.reason is Reason.upstream_invalid
        assert "an event of more than 8388608 bytes" in failure.message
        exchange = await upstream.requested()
        await exchange.client_left()
        assert exchange.sent < 32 * 1024 * 1024
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        assert grown < 64 * 1024 * 1024
