"""What a chat completions server says in a reply of status 200, and what it means."""

import asyncio
import json
import logging

import pytest

from deltawire.domain.errors import Reason
from deltawire.domain.events import FinishReason, Reasoning, Text, Usage
from deltawire.domain.ports import Completion
from tests.providers.asking import ITEM, KEY, ask, ask_once, provider_at
from tests.upstream import (
    FRAMINGS,
    Gate,
    Step,
    Upstream,
    answer,
    body,
    close,
    comment,
    completion,
    delay,
    done,
    error_event,
    event,
    finish,
    head,
    reasoning,
    refusal,
    repeat,
    reply,
    reset,
    role,
    silence,
    text,
    together,
    usage,
)

pytestmark = pytest.mark.anyio

CHAT = FRAMINGS["lf"]
STOP = Completion(finish_reason=FinishReason.stop)
COUNTED = Completion(finish_reason=FinishReason.stop, usage=Usage(9, 2))


async def test_an_end_without_a_finish_reason_is_a_truncated_reply_after_its_text() -> None:
    async with Upstream() as upstream:
        upstream.script(head(), text("a"), text("b"), text("c"))
        heard = await ask_once(upstream)
        assert heard.text == "abc"
        assert (heard.failure.reason, heard.failure.retry_safe) == (Reason.upstream_truncated, False)


async def test_a_finish_reason_without_an_end_marker_is_a_finished_answer() -> None:
    async with Upstream() as upstream:
        upstream.script(head(), text("a"), finish("stop"))
        heard = await ask_once(upstream)
        assert (heard.text, heard.completion) == ("a", STOP)


async def test_nobody_waits_for_the_socket_after_the_end_marker() -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.script(head(), text("a"), finish("stop"), done(), silence())
        start = asyncio.get_running_loop().time()
        heard = await ask(provider)
        assert (heard.text, heard.completion) == ("a", STOP)
        assert asyncio.get_running_loop().time() - start < 0.5
        await (await upstream.requested()).client_left(within=3)


async def test_an_end_marker_without_a_finish_reason_invents_none() -> None:
    async with Upstream() as upstream:
        upstream.script(head(), text("a"), done())
        heard = await ask_once(upstream)
        assert (heard.text, heard.completion) == ("a", Completion(finish_reason=FinishReason.unknown))


async def test_an_empty_stream_is_a_truncated_reply() -> None:
    async with Upstream() as upstream:
        upstream.script(head())
        assert (await ask_once(upstream)).failure.reason is Reason.upstream_truncated


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        ({"message": "quota", "code": "rate_limit"}, Reason.upstream_rate_limited, "quota"),
        ({"message": "slow down", "code": 429}, Reason.upstream_rate_limited, "slow down"),
        ({"message": "try later", "type": "overloaded_error"}, Reason.upstream_error, "try later"),
        ({"message": "bad", "type": "invalid_request_error"}, Reason.upstream_rejected, "bad"),
        ({"message": "who", "code": "invalid_api_key"}, Reason.upstream_auth, "who"),
        ({"message": "no", "code": "content_filter"}, Reason.content_filter, "no"),
        ("it broke", Reason.upstream_error, "it broke"),
        ({"code": 500}, Reason.upstream_error, "500"),
        ({}, Reason.upstream_error, "failed in the middle"),
        ([], Reason.upstream_error, "failed in the middle"),
    ],
)
async def test_an_error_inside_a_stream_is_the_end_of_it(error: object, reason: Reason, message: str) -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.script(head(), together(text("a"), text("b"), event({"error": error}), text("never"), done()))
        heard = await ask(provider)
        assert heard.text == "ab"
        assert heard.failure.reason is reason
        assert message in heard.failure.message
        assert not heard.failure.retry_safe
        await upstream.all_left()


async def test_an_event_named_error_that_is_no_json_is_an_invalid_reply() -> None:
    async with Upstream() as upstream:
        upstream.script(head(), text("a"), event("<html>Bad Gateway</html>", name="error"))
        failure = (await ask_once(upstream)).failure
        assert failure.reason is Reason.upstream_invalid
        assert "html" not in failure.message


async def test_chunks_without_words_bring_no_piece() -> None:
    async with Upstream() as upstream:
        upstream.script(
            head(),
            CHAT.chunk({"role": "assistant"}),
            CHAT.chunk({"content": None}),
            CHAT.chunk({}),
            event({"choices": [{"index": 0, "delta": None}]}),
            event('{"choices":[{}]}'),
            event({"choices": None}),
            event("{}"),
            CHAT.chunk({"content": "A", "tool_calls": None}),
            CHAT.chunk({"content": ""}),
            CHAT.chunk({"content": "B"}),
            finish(),
            done(),
        )
        assert (await ask_once(upstream)).pieces == [Text("A"), Text("B")]


async def test_a_finish_reason_that_is_an_empty_string_is_none() -> None:
    async with Upstream() as upstream:
        upstream.script(head(), CHAT.chunk({"content": "a"}, finish_reason=""), text("b"))
        heard = await ask_once(upstream)
        assert heard.text == "ab"
        assert heard.failure.reason is Reason.upstream_truncated


async def test_a_choice_whose_index_is_null_is_the_first() -> None:
    async with Upstream() as upstream:
        upstream.script(head(), event({"choices": [{"index": None, "delta": {"content": "a"}}]}), finish(), done())
        assert (await ask_once(upstream)).text == "a"


@pytest.mark.parametrize(
    "chunks",
    [
        [text("a"), finish(), usage(9, 2), done()],
        [CHAT.chunk({"content": "a"}, usage={"prompt_tokens": 9, "completion_tokens": 1}), finish(), usage(9, 2)],
        [text("a"), usage(9, 2), finish(), done()],
        [text("a"), CHAT.chunk({}, finish_reason="stop", usage={"prompt_tokens": 9, "completion_tokens": 2}), done()],
    ],
    ids=["last", "running totals", "before the finish", "with the finish"],
)
async def test_usage_is_the_last_count_wherever_it_comes(chunks: list[Step]) -> None:
    async with Upstream() as upstream:
        upstream.script(head(), *chunks)
        heard = await ask_once(upstream)
        assert (heard.text, heard.completion) == ("a", COUNTED)


@pytest.mark.parametrize(
    "counted",
    [
        None,
        {},
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": "9", "completion_tokens": 2},
        {"prompt_tokens": 9.5, "completion_tokens": 2},
        {"prompt_tokens": 9, "completion_tokens": -2},
        "many",
        [],
    ],
)
async def test_usage_that_counts_nothing_is_no_usage_and_no_failure(counted: object) -> None:
    async with Upstream() as upstream:
        upstream.script(head(), text("a"), finish(), event({"choices": [], "usage": counted}), done())
        assert (await ask_once(upstream)).completion == STOP


async def test_nothing_after_the_end_marker_counts() -> None:
    async with Upstream() as upstream:
        upstream.script(head(), together(text("a"), finish(), done(), text("b"), usage(9, 2), error_event("late")))
        heard = await ask_once(upstream)
        assert (heard.text, heard.completion) == ("a", STOP)


async def test_choices_that_nobody_asked_for_are_not_merged_in(caplog: pytest.LogCaptureFixture) -> None:
    async with Upstream() as upstream:
        both = {"choices": [{"index": 1, "delta": {"content": "Y"}}, {"index": 0, "delta": {"content": "b"}}]}
        upstream.script(
            head(),
            text("X", index=1),
            text("a", index=0),
            finish("length", index=1),
            event(both),
            text("Z", index=1),
            finish("stop", index=0),
            done(),
        )
        with caplog.at_level(logging.WARNING, logger="deltawire"):
            heard = await ask_once(upstream)
        assert (heard.text, heard.completion) == ("ab", STOP)
        assert [record.getMessage() for record in caplog.records] == [
            "the provider 'up' sends more choices than the one that was asked for; the others are ignored"
        ]


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
async def test_reasoning_is_told_apart_from_the_answer(key: str) -> None:
    async with Upstream() as upstream:
        upstream.script(head(), *(reasoning(f"{n},", key=key) for n in range(30)), text("a"), text("b"), finish())
        heard = await ask_once(upstream)
        assert (heard.reasoning, heard.text) == ("".join(f"{n}," for n in range(30)), "ab")
        assert heard.signs.received_seen + len(heard.pieces) >= 30  # a piece is a sign of life by itself


async def test_reasoning_under_both_names_is_not_doubled() -> None:
    async with Upstream() as upstream:
        both = {"reasoning": "r", "reasoning_content": "r", "content": "a"}
        upstream.script(head(), CHAT.chunk(both), finish(), done())
        assert (await ask_once(upstream)).pieces == [Reasoning("r"), Text("a")]


async def test_a_first_event_without_choices_changes_nothing() -> None:
    async with Upstream() as upstream:
        filters = {"id": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
        upstream.script(head(), event(filters), role(), text("a"), finish(), usage(9, 2), done())
        heard = await ask_once(upstream)
        assert (heard.text, heard.completion) == ("a", COUNTED)


@pytest.mark.parametrize(
    ("told", "understood"),
    [
        ("stop", FinishReason.stop),
        ("length", FinishReason.length),
        ("content_filter", FinishReason.content_filter),
        ("tool_calls", FinishReason.unknown),
        ("eos_token", FinishReason.unknown),
    ],
)
async def test_finish_reasons(told: str, understood: FinishReason) -> None:
    async with Upstream() as upstream:
        upstream.script(*(answer("a", finish_reason=told),))
        assert (await ask_once(upstream)).completed.finish_reason is understood


async def test_a_refusal_of_a_typed_answer_is_no_piece_and_keeps_its_words() -> None:
    async with Upstream() as upstream:
        upstream.script(head(), role(), refusal("cannot "), refusal(f"help {KEY}\n"), finish(), done())
        heard = await ask_once(upstream, output=ITEM)
        assert heard.pieces == []
        assert heard.completion == Completion(finish_reason=FinishReason.refusal, refusal="cannot help …")


async def test_a_refusal_of_a_text_is_its_text() -> None:
    async with Upstream() as upstream:
        upstream.script(head(), refusal("cannot "), refusal("help"), finish(), done())
        heard = await ask_once(upstream)
        assert heard.text == "cannot help"
        assert heard.completion == Completion(finish_reason=FinishReason.refusal, refusal="cannot help")


@pytest.mark.parametrize("content", [None, ""])
async def test_a_whole_reply_can_refuse(content: str | None) -> None:
    async with Upstream() as upstream:
        upstream.script(completion(content, refusal="cannot help"))
        heard = await ask_once(upstream, output=ITEM)
        expected = Completion(finish_reason=FinishReason.refusal, usage=Usage(9, 2), refusal="cannot help")
        assert (heard.pieces, heard.completion) == ([], expected)


async def test_a_reply_in_one_json_document_is_an_answer() -> None:
    async with Upstream() as upstream:
        upstream.script(completion("hé🙂", reasoning_content="r"))
        heard = await ask_once(upstream)
        assert (heard.pieces, heard.completion) == ([Reasoning("r"), Text("hé🙂")], COUNTED)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{",
        b'"ok"',
        b"null",
        b"{}",
        b'{"status":"ok"}',
        b'{"choices":[]}',
        b'{"choices":[{}]}',
        b"\xff",
        b"[" * 5000,
    ],
)
async def test_a_json_document_without_an_answer_is_an_invalid_reply(document: bytes) -> None:
    async with Upstream() as upstream:
        upstream.script(reply(200, document))
        heard = await ask_once(upstream)
        assert (heard.pieces, heard.failure.reason) == ([], Reason.upstream_invalid)


async def test_an_error_document_of_status_200_is_an_error() -> None:
    async with Upstream() as upstream:
        upstream.script(
            reply(200, json.dumps({"error": {"message": "no credit", "code": "insufficient_quota"}}).encode())
        )
        failure = (await ask_once(upstream)).failure
        assert (failure.reason, "no credit" in failure.message) == (Reason.upstream_rate_limited, True)


async def test_a_json_document_without_an_end_is_bounded() -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url, max_event_bytes=100_000) as provider:
        upstream.script(head(content_type="application/json"), repeat(body(b" " * 65536)))
        failure = (await ask(provider)).failure
        assert (failure.reason, "100000 bytes" in failure.message) == (Reason.upstream_invalid, True)
        await upstream.all_left()


@pytest.mark.parametrize(
    "tail",
    [
        [silence()],
        [reset()],
        [close()],
        [comment(" still here"), repeat(together(delay(0.2), comment()))],
    ],
    ids=["kept open", "reset", "closed", "kept open with heartbeats"],
)
async def test_an_answer_with_a_finish_reason_is_complete_whatever_the_server_does_next(tail: list[Step]) -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.script(head(), text("a"), finish(), *tail)
        heard = await asyncio.wait_for(ask(provider), 3)
        assert (heard.text, heard.completion) == ("a", STOP)


async def test_usage_that_comes_late_is_waited_for() -> None:
    gate = Gate()
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.script(head(), text("a"), finish(), gate.wait(), usage(9, 2), done())
        task = asyncio.create_task(ask(provider))
        await gate.reached()
        gate.open()
        assert (await task).completion == COUNTED


@pytest.mark.parametrize("end", [reset(), close()], ids=["reset", "closed"])
async def test_text_that_comes_with_the_cut_is_delivered_before_it(end: Step) -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.script(head(), text("a"), text("b"), end)
        heard = await ask(provider, after_first=upstream.all_left)  # the rest and the cut come while nobody reads
        assert heard.pieces == [Text("a"), Text("b")]
        assert heard.failure.reason is Reason.upstream_truncated


@pytest.mark.parametrize("end", [reset(), close()], ids=["reset", "closed"])
async def test_an_answer_that_ends_with_the_cut_is_complete(end: Step) -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.script(head(), text("a"), together(text("b"), finish(), usage(9, 2)), end)
        heard = await ask(provider, after_first=upstream.all_left)
        assert (heard.pieces, heard.completion) == ([Text("a"), Text("b")], COUNTED)


@pytest.mark.parametrize("marker", ["[DONE] ", " [DONE]", "[DONE]\t"])
async def test_an_end_marker_may_have_spaces_around_it(marker: str) -> None:
    async with Upstream() as upstream:
        upstream.script(head(), text("a"), event(marker), silence())
        assert (await ask_once(upstream)).completed.finish_reason is FinishReason.unknown


@pytest.mark.parametrize("data", ["{", "5", "null", "[]", '{"choices":5}', "nonsense", "[DONE", "[" * 5000])
async def test_an_event_that_is_no_chunk_is_an_invalid_reply_after_its_text(data: str) -> None:
    async with Upstream() as upstream:
        upstream.script(head(), together(text("a"), event(data), text("b"), finish()))
        heard = await ask_once(upstream)
        assert (heard.text, heard.failure.reason) == ("a", Reason.upstream_invalid)
