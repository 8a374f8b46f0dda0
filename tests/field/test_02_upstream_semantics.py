"""What a provider's events mean, where weaker clients take them for something else."""

import json
import time
from typing import Any

import pytest

from deltawire.domain.errors import Reason
from tests.field.outcomes import assert_failed, everywhere, finish_reason, on_all_at_once, result, told
from tests.matrix.answers import answer, chunks, events
from tests.matrix.notation import Call
from tests.matrix.server import Log
from tests.matrix.stage import Matrix
from tests.matrix.transports import EVENTFUL, TRANSPORTS
from tests.upstream import (
    Step,
    close,
    delay,
    done,
    event,
    finish,
    head,
    reasoning,
    repeat,
    silence,
    text,
    together,
    usage,
)

pytestmark = pytest.mark.anyio

every_transport = pytest.mark.parametrize("transport", TRANSPORTS)
PATIENT = Call("patient")
END = (finish("stop"), usage(9, 2), done())


def delta(**members: object) -> Step:
    return event({"choices": [{"index": 0, "delta": members}]})


# US-01: how a stream ends


@every_transport
async def test_us_01_a_clean_end_without_a_finish_reason_is_truncated_and_not_asked_again(
    matrix: Matrix, transport: str
) -> None:
    steps = (head(), text("a"), text("b"), text("c"))
    reply, line = await told(matrix, transport, *steps, call=PATIENT)
    assert_failed(transport, reply, Reason.upstream_truncated, partial=True)
    assert (line["attempts"], len(matrix.provider.requests)) == (1, 1)


@every_transport
async def test_us_01_a_finish_reason_without_an_end_marker_is_success(matrix: Matrix, transport: str) -> None:
    reply, line = await told(matrix, transport, head(), text("a"), text("b"), finish("stop"), call=PATIENT)
    assert (answer(transport, reply), line["outcome"]) == ("ab", "stop")


@every_transport
async def test_us_01_nobody_waits_for_the_socket_after_the_end_marker(matrix: Matrix, transport: str) -> None:
    took: list[float] = []
    while min(took, default=1.0) >= 0.5 and len(took) < 5:  # a busy machine takes as long now and then
        began = time.monotonic()
        reply, _ = await told(matrix, transport, head(), text("a"), finish("stop"), done(), silence(), call=PATIENT)
        took.append(time.monotonic() - began)
        assert answer(transport, reply) == "a"
    assert min(took) < 0.5  # whoever reads on waits for a second at least


@every_transport
async def test_us_01_an_end_marker_without_a_finish_reason_invents_no_stop(matrix: Matrix, transport: str) -> None:
    reply, line = await told(matrix, transport, head(), text("a"), text("b"), usage(9, 2), done(), call=PATIENT)
    if transport == "invoke":  # takes a `stop` only
        assert_failed(transport, reply, Reason.upstream_truncated, partial=True)
        return
    assert (answer(transport, reply), line["outcome"]) == ("ab", "unknown")
    if transport != "text":
        assert finish_reason(transport, reply) in ("unknown", None)


# US-02: errors inside of a stream of status 200

ERRORS: dict[str, tuple[Reason, tuple[Step, ...]]] = {
    "an object": (
        Reason.upstream_rate_limited,
        (event({"error": {"message": "quota", "code": "rate_limit"}}), done()),
    ),
    "an event of that name": (
        Reason.upstream_error,
        (event({"type": "error", "error": {"type": "overloaded_error"}}, name="error"), close()),
    ),
    "a string": (Reason.upstream_error, (event({"error": "overloaded"}), done())),
    "without the member error": (
        Reason.upstream_rate_limited,
        (event({"object": "error", "message": "quota", "type": "TooManyRequests", "code": 429}), done()),
    ),
    "words alone": (Reason.upstream_error, (event({"message": "it broke"}, name="error"), done())),
    "a framework's": (Reason.upstream_error, (event({"detail": "it broke"}), done())),
}


@everywhere("form", list(ERRORS)[:3], list(ERRORS)[3:])
async def test_us_02_an_error_after_content_is_the_transports_own_error(
    matrix: Matrix, transport: str, form: str
) -> None:
    reason, error = ERRORS[form]
    reply, line = await told(matrix, transport, head(), text("a"), text("b"), *error, call=PATIENT)
    assert_failed(transport, reply, reason, partial=True)
    assert (line["outcome"], line["attempts"]) == (reason, 1)


# US-03: first chunks without text


@every_transport
async def test_us_03_chunks_without_text_bring_nothing_and_do_not_begin_the_answer(
    matrix: Matrix, transport: str
) -> None:
    wordless = (delta(role="assistant"), delta(content=None), delta())
    worded = (delta(content="A", tool_calls=None), delta(content=""), delta(content="B"))
    reply, line = await told(matrix, transport, head(), *wordless, delay(0.1), *worded, *END)
    assert answer(transport, reply) == "AB"
    assert line["first_content"] >= 0.1
    if transport in EVENTFUL:
        assert all(one["text"] for one in events(transport, reply) if one["type"] == "text")
    if transport == "chat_stream":
        assert all(chunk["choices"][0]["delta"].get("content") != "" for chunk in chunks(reply)[1:])


ODD: dict[str, tuple[Step, ...]] = {
    "an error that is none": (event({"choices": [{"index": 0, "delta": {"content": "AB"}}], "error": ""}),),
    "a number that is none": (
        event('{"choices":[{"index":0,"delta":{"content":"AB"},"logprobs":{"a":NaN,"b":-Infinity}}]}'),
    ),
    "a content in parts": (delta(content=[{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]),),
    "reasoning that is no text": (delta(content="AB", reasoning={"effort": "low"}, refusal=False),),
    "an index that is no whole number": (
        event({"choices": [{"index": "0", "delta": {"content": "A"}}]}),
        event({"choices": [{"index": 0.0, "delta": {"content": "B"}}]}),
    ),
}


@everywhere("form", [], ODD)
async def test_us_03_what_stands_oddly_beside_the_text_costs_no_text(matrix: Matrix, transport: str, form: str) -> None:
    reply, line = await told(matrix, transport, head(), *ODD[form], *END)
    assert (answer(transport, reply), line["outcome"]) == ("AB", "stop")


# US-04: usage

COUNTED = {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}


def counting(content: str, counted: int) -> Step:
    usage_so_far = {"prompt_tokens": 9, "completion_tokens": counted}
    return event({"choices": [{"index": 0, "delta": {"content": content}}], "usage": usage_so_far})


USAGES: dict[str, tuple[Step, ...]] = {
    "last": (text("a"), text("b"), finish("stop"), event({"choices": [], **COUNTED}), done()),
    "on every chunk": (counting("a", 1), counting("b", 2), finish("stop"), event({"choices": [], **COUNTED}), done()),
    "before the finish": (text("a"), text("b"), event({"choices": [], **COUNTED}), finish("stop"), done()),
    "beside the finish": (
        *(text("a"), text("b")),
        event({"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}], **COUNTED}),
        done(),
    ),
}


@everywhere("place", list(USAGES)[:3], list(USAGES)[3:])
async def test_us_04_usage_counts_once_wherever_it_comes(matrix: Matrix, transport: str, place: str) -> None:
    reply, line = await told(matrix, transport, head(), *USAGES[place])
    assert answer(transport, reply) == "ab"
    assert (line["input_tokens"], line["output_tokens"]) == (9, 2)
    match transport:
        case "text" | "invoke":
            pass
        case "chat":
            assert json.loads(reply.body)["usage"] == {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
        case "chat_stream":
            assert all(chunk["choices"] for chunk in chunks(reply)), "nobody has asked for a chunk of usage"
        case _:
            assert events(transport, reply)[-1]["usage"] == {"input_tokens": 9, "output_tokens": 2}


@pytest.mark.parametrize("place", USAGES)
async def test_us_04_whoever_asks_for_usage_gets_one_chunk_of_it(matrix: Matrix, place: str) -> None:
    asked = Call("say", members=',"stream_options":{"include_usage":true}')
    reply, _ = await told(matrix, "chat_stream", head(), *USAGES[place], call=asked)
    [counted] = [chunk["usage"] for chunk in chunks(reply) if not chunk["choices"]]
    assert (counted["prompt_tokens"], counted["completion_tokens"]) == (9, 2)


# US-07: several choices


def choices(*said: tuple[int, str | None]) -> Step:
    """A chunk with these choices: an index, and its text or ``None`` for its finish."""
    listed: list[dict[str, object]] = [
        {"index": index, "delta": {"content": words}}
        if words
        else {"index": index, "delta": {}, "finish_reason": "stop"}
        for index, words in said
    ]
    return event({"choices": listed})


INTERLEAVED: dict[str, tuple[Step, ...]] = {
    "in turns": (choices((1, "x")), choices((0, "a")), choices((1, None)), choices((0, "b")), choices((0, None))),
    "in one chunk": (choices((1, "x"), (0, "a")), choices((0, "b"), (1, None)), choices((0, None))),
    "all of it": (*(choices((1, "x")), choices((0, "a")), choices((1, "y"), (0, "b"))), choices((1, None), (0, None))),
}


@everywhere("order", ["all of it"], list(INTERLEAVED)[:2])
async def test_us_07_choices_that_nobody_asked_for_are_left_out_with_one_warning(
    matrix: Matrix, transport: str, order: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = Log(matrix.server.log.file)
    log.new()
    reply, line = await told(matrix, transport, head(), *INTERLEAVED[order], done())
    assert (answer(transport, reply), line["outcome"]) == ("ab", "stop")
    heard: list[Any] = (
        [one.getMessage() for one in caplog.records]
        if transport == "engine"
        else [one.get("message") for one in log.new()]
    )
    assert len([one for one in heard if one and "more choices" in one]) == 1


@pytest.mark.parametrize("transport", ["chat", "chat_stream"])
async def test_us_07_several_answers_are_refused_before_anybody_is_asked(matrix: Matrix, transport: str) -> None:
    reply = await matrix.caller(transport).call(Call("say", members=',"n":2'))
    assert_failed(transport, reply, Reason.invalid_input, partial=False)
    assert matrix.provider.requests == []


# US-08: reasoning

KEYS: dict[str, tuple[Step, ...]] = {
    "reasoning": (repeat(reasoning("hm ", key="reasoning"), 30),),
    "reasoning_content": (repeat(reasoning("hm ", key="reasoning_content"), 30),),
    "in parts": (repeat(delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm "}]}]), 30),),
    "both": (repeat(delta(reasoning="hm ", reasoning_content="hm ", content=None), 30),),
}


@everywhere("key", ["reasoning", "reasoning_content", "both"], ["in parts"])
async def test_us_08_the_answer_holds_no_reasoning_and_reasoning_is_not_doubled(
    matrix: Matrix, transport: str, key: str
) -> None:
    reply, _ = await told(matrix, transport, head(), *KEYS[key], text("Hel"), text("lo"), *END)
    assert answer(transport, reply) == "Hello"
    if transport in EVENTFUL:
        thought = "".join(one["text"] for one in events(transport, reply) if one["type"] == "reasoning")
        assert thought == "hm " * 30
    elif transport == "chat_stream":
        assert (
            "".join(chunk["choices"][0]["delta"].get("reasoning_content", "") for chunk in chunks(reply)) == "hm " * 30
        )
    else:
        assert "hm" not in reply.content


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
async def test_us_08_reasoning_is_activity(matrix: Matrix, key: str) -> None:
    thinking = repeat(together(delay(0.1), reasoning("hm ", key=key)), 20)  # twice the limit of silence
    replies = await on_all_at_once(matrix, lambda _: [head(), thinking, text("yes"), *END], "pausing")
    answers = {transport: answer(transport, reply) for transport, reply in replies.items()}
    assert answers == dict.fromkeys(TRANSPORTS, "yes")


THOUGHTS = {
    "words": "<think>The passage names a kettle.</think>\n\n",
    "braces": '<think>Perhaps {"items": []}? No: [one] {item}.</think>\n',
    "a broken draft": '<think>\nIt could be {"items": ["ket\n</think>',
    "without its opening": 'so it is {"items": []}, or not\n</think>\n',
    "before a fence": '<think>{"items": []}</think>\nHere:\n```json\n',
}


@everywhere("thought", list(THOUGHTS)[:1], list(THOUGHTS)[1:])
async def test_us_08_thoughts_inside_of_a_typed_answer_are_not_read(
    matrix: Matrix, transport: str, thought: str
) -> None:
    said = THOUGHTS[thought] + '{"items": ["kettle"]}' + ("\n```" if thought == "before a fence" else "")
    reply, line = await told(matrix, transport, head(), text(said), *END, call=Call("items"))
    if transport == "text":  # the pieces as the model wrote them
        assert (reply.body.decode(), line["outcome"]) == (said, "stop")
    else:
        assert result(transport, reply) == {"items": ["kettle"]}


@everywhere("thought", [], ["<think>", ""])
async def test_us_08_a_draft_in_thoughts_is_no_answer(matrix: Matrix, transport: str, thought: str) -> None:
    said = thought + 'Perhaps {"items": ["kettle"]}</think>I would rather not.'
    reply, _ = await told(matrix, transport, head(), text(said), *END, call=Call("items"))
    assert_failed(transport, reply, Reason.output_invalid, partial=True, sent=transport != "chat_stream")
