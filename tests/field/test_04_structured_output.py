"""Typed answers that are almost right, cut or refused, and what is sent to get them."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pytest

from deltawire.domain.errors import Reason
from tests.field.outcomes import assert_failed, everywhere, result, told
from tests.matrix.answers import answer, events
from tests.matrix.notation import Call
from tests.matrix.stage import Matrix
from tests.matrix.transports import CHAT, EVENTFUL, TRANSPORTS
from tests.upstream import (
    Request,
    Step,
    completion,
    done,
    error_reply,
    event,
    finish,
    head,
    refusal,
    text,
    usage,
)
from tests.upstream import answer as good

pytestmark = pytest.mark.anyio

every_transport = pytest.mark.parametrize("transport", TRANSPORTS)
END = (finish("stop"), usage(9, 2), done())
TYPED = [transport for transport in TRANSPORTS if transport != "text"]
"""Plain text brings the pieces of a typed answer, as the model writes them, and not its value."""


async def failed(matrix: Matrix, transport: str, reason: Reason, call: str, *steps: Step, partial: bool = True) -> str:
    """Asserts that a typed answer came to this, after one call of the provider; the message."""
    replied, line = await told(matrix, transport, *steps, call=Call(call))
    assert_failed(transport, replied, reason, partial=partial, sent=partial and transport not in CHAT)
    assert (line["outcome"], line["attempts"], len(matrix.provider.requests)) == (reason, 1, 1)
    return line["message"]


# SO-01: JSON that is wrapped, and JSON that is broken

WRAPPED = {
    "in a fence with a tag": ('```json\n{"note": "kettle"}\n```', "kettle"),
    "in a fence between prose": ('Sure:\n\n```\n{"note": "kettle"}\n```\n\nAnything else?', "kettle"),
    "with a trailing comma": ('{"note": "kettle",}', "kettle"),
    "a value that is a fence with braces": (
        json.dumps({"note": 'use ```json\n{"a": [1,]}\n``` {here}'}),
        'use ```json\n{"a": [1,]}\n``` {here}',
    ),
}


@pytest.mark.parametrize("transport", TYPED)
@pytest.mark.parametrize("form", WRAPPED)
async def test_so_01_a_value_that_is_wrapped_is_read_without_another_call(
    field: Matrix, transport: str, form: str
) -> None:
    said, value = WRAPPED[form]
    replied, line = await told(field, transport, head(), text(said), *END, call=Call("note"))
    assert result(transport, replied) == {"note": value}
    assert (line["attempts"], len(field.provider.requests)) == (1, 1)


BROKEN = {
    "a quote inside of a string": ("note", '{"note":"said "stop", then left"}'),
    "no number": ("share", '{"share": NaN}'),
    "infinity": ("share", '{"share": -Infinity}'),
    "a member that is swallowed": ("note", '{"note":"a, "other":"b"}'),
}


@everywhere("form", list(BROKEN)[:2], list(BROKEN)[2:])
async def test_so_01_a_broken_value_is_never_repaired_into_another(field: Matrix, transport: str, form: str) -> None:
    function, said = BROKEN[form]
    await failed(field, transport, Reason.output_invalid, function, head(), text(said), *END)


# SO-02: answers that were cut

CUT = '{"title":"T1","rows":[1,2,3'


@every_transport
async def test_so_02_an_answer_that_is_cut_at_the_limit_is_no_result(field: Matrix, transport: str) -> None:
    steps = (head(), text(CUT), finish("length"), done())
    message = await failed(field, transport, Reason.output_truncated, "table", *steps)
    assert "max_tokens = 7" in message


@every_transport
async def test_so_02_a_valid_answer_that_was_cut_at_the_limit_is_no_result(field: Matrix, transport: str) -> None:
    """It may have been meant to go on: a number is valid at every digit."""
    steps = (head(), text(CUT + "]}"), finish("length"), done())
    await failed(field, transport, Reason.output_truncated, "table", *steps)


@every_transport
async def test_so_02_an_answer_that_is_cut_and_said_to_be_whole_is_not_closed(field: Matrix, transport: str) -> None:
    await failed(field, transport, Reason.output_invalid, "table", head(), text(CUT), *END)


@every_transport
async def test_so_02_a_budget_that_went_into_thinking_is_told(field: Matrix, transport: str) -> None:
    nothing = event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]})
    steps = (head(), nothing, finish("length"), done())
    message = await failed(field, transport, Reason.output_truncated, "table", *steps, partial=False)
    assert "max_tokens = 7" in message


@every_transport
async def test_so_02_pieces_of_a_tool_call_are_no_result(field: Matrix, transport: str) -> None:
    called = {"index": 0, "id": "c1", "type": "function", "function": {"name": "table", "arguments": CUT}}
    piece = event({"choices": [{"index": 0, "delta": {"content": None, "tool_calls": [called]}}]})
    steps = (head(), piece, finish("tool_calls"), done())
    await failed(field, transport, Reason.upstream_truncated, "table", *steps, partial=False)


# SO-03: refusals

REFUSALS: dict[str, tuple[Step, ...]] = {
    "whole, with null": (completion(None, refusal="cannot help"),),
    "whole, with an empty text": (completion("", refusal="cannot help"),),
    "in pieces": (head(), refusal("cannot "), refusal("help"), *END),
}


@everywhere("form", REFUSALS)
async def test_so_03_a_refusal_is_told_with_its_words_and_not_asked_again(
    field: Matrix, transport: str, form: str
) -> None:
    message = await failed(field, transport, Reason.refusal, "mended_note", *REFUSALS[form], partial=False)
    assert message.endswith("cannot help")


@everywhere("form", ["in pieces"], list(REFUSALS)[:2])
async def test_so_03_a_refusal_of_a_text_is_its_own_end(matrix: Matrix, transport: str, form: str) -> None:
    replied, line = await told(matrix, transport, *REFUSALS[form])
    assert line["outcome"] == "refusal"
    if transport == "invoke":  # takes a `stop` only
        assert_failed(transport, replied, Reason.refusal, partial=True)
    elif transport in EVENTFUL:
        assert events(transport, replied)[-1]["finish_reason"] == "refusal"
        assert answer(transport, replied) == "cannot help"
    else:
        assert "help" in replied.content


# SO-05: schemas


def refused(part: Any, at: str = "#") -> Iterator[str]:
    """What a server with a strict mode says against a schema, by the rules that OpenAI documents."""
    if isinstance(part, list):
        for place, one in enumerate(cast("list[Any]", part)):
            yield from refused(one, f"{at}/{place}")
    elif isinstance(part, dict):
        schema = cast("dict[str, Any]", part)
        properties: dict[str, Any] = schema.get("properties", {})
        if schema.get("type") == "object":
            if schema.get("additionalProperties") is not False:
                yield f"{at}: additionalProperties must be false"
            if sorted(schema.get("required", [])) != sorted(properties):
                yield f"{at}: required must name every property"
        if "$ref" in schema and len(schema) > 1:
            yield f"{at}: nothing may stand beside $ref"
        yield from (f"{at}: '{key}' is not permitted" for key in ("default", "$schema", "title") if key in schema)
        for name, one in {**properties, **schema.get("$defs", {})}.items():
            yield from refused(one, f"{at}/{name}")
        for key in schema.keys() - {"properties", "$defs"}:
            yield from refused(schema[key], f"{at}/{key}")


def strict_server(said: str) -> Callable[[Request], Sequence[Step]]:
    def play(request: Request) -> Sequence[Step]:
        asked = request.json["response_format"]["json_schema"]
        complaints = list(refused(asked["schema"])) if asked["strict"] else []
        return [error_reply(400, "; ".join(complaints))] if complaints else [good(said)]

    return play


def schemas(matrix: Matrix) -> list[Any]:
    return [request.json["response_format"]["json_schema"] for request in matrix.provider.requests]


@pytest.mark.parametrize("transport", TYPED)
async def test_so_05_a_strict_server_takes_the_schema_and_defaults_come_back(field: Matrix, transport: str) -> None:
    said = {"root": {"name": "a", "parts": [{"name": "b", "parts": None}]}, "colour": "red", "currency": None}
    field.provider.answer_with(strict_server(json.dumps(said)))
    caller = field.caller(transport)
    for _ in range(2):
        assert result(transport, await caller.call(Call("order"))) == {
            "root": {"name": "a", "parts": [{"name": "b", "parts": []}]},
            "colour": "red",
            "currency": "EUR",
        }
    first, second = schemas(field)
    assert first == second
    assert first["strict"] is True
    assert {"type": "null"} in first["schema"]["properties"]["currency"]["anyOf"]


@pytest.mark.parametrize("transport", TYPED)
async def test_so_05_a_free_form_object_is_not_closed(field: Matrix, transport: str) -> None:
    said = {"part": {"name": "a"}, "counts": {"bolts": 4, "nuts": 5}}
    field.provider.answer_with(strict_server(json.dumps(said)))
    caller = field.caller(transport)
    for _ in range(2):
        assert result(transport, await caller.call(Call("stock"))) == {
            "part": {"name": "a", "parts": []},
            "counts": {"bolts": 4, "nuts": 5},
            "currency": "EUR",
        }
    first, second = schemas(field)
    assert first == second
    assert first["strict"] is False
    assert first["schema"]["properties"]["counts"]["additionalProperties"] == {"type": "integer"}


# SO-06: braces


@everywhere("question", ["{x} {{y}} %s $z {__class__}"], ["{question}", "%(question)s ${question} {0}"])
async def test_so_06_braces_reach_the_model_as_they_stand(field: Matrix, transport: str, question: str) -> None:
    call = Call("braces", input=json.dumps({"question": question}))
    await told(field, transport, good("ok"), call=call)
    [request] = field.provider.requests
    assert [message["content"] for message in request.json["messages"]] == [
        'Answer as {"answer": "..."}.',
        f"Question: {question}",
    ]
