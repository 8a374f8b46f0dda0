"""How an answer becomes the value of its type, or an error that says what was wrong with it."""

from datetime import date
from enum import StrEnum

import pytest
from pydantic import BaseModel

from deltawire import function
from deltawire.domain.errors import Reason
from deltawire.domain.events import FinishReason, Usage
from deltawire.domain.ports import Completion
from tests.engine.stage import request, stage

pytestmark = pytest.mark.anyio


class Item(BaseModel):
    name: str
    since: date | None = None


class Colour(StrEnum):
    red = "red"
    blue = "blue"


@function(output=Item)
def item(words: str) -> str:
    return words


@function(output=list[Item])
def items(words: str) -> str:
    return words


@function(output=Colour)
def colour(words: str) -> str:
    return words


def ended(reason: FinishReason) -> Completion:
    return Completion(finish_reason=reason, usage=Usage(3, 4))


async def test_a_refusal_tells_the_model_s_words() -> None:
    async with stage([item], Completion(finish_reason=FinishReason.refusal, refusal="cannot help")) as on:
        error = await on.error("item", request(words="hi"))
        assert (error.message, error.partial) == ("the model refused to answer: cannot help", False)


@pytest.mark.parametrize(
    ("name", "answer", "output"),
    [
        ("item", '{"name":"a"}', '{"name":"a","since":null}'),
        ("item", 'Sure:\n```json\n{"name": "a", "since": "2026-11-30",}\n```', '{"name":"a","since":"2026-11-30"}'),
        ("items", '{"value":[{"name":"é\u2028"}]}', '[{"name":"é\u2028","since":null}]'),
        ("items", '{"value":[]}', "[]"),
        ("colour", '{"value":"blue"}', '"blue"'),
    ],
)
async def test_a_typed_answer_is_validated(name: str, answer: str, output: str) -> None:
    async with stage([item, items, colour], *answer) as on:
        finished = await on.finished(name, request(words="hi"))
        assert bytes(finished.output or b"").decode() == output


@pytest.mark.parametrize(
    ("name", "answer", "about"),
    [
        ("item", "", "is not the JSON of Item"),
        ("item", '{"name":"a"', "is not the JSON of Item"),
        ("item", '{"name":1}', "output.name"),
        ("item", '{"name":"a","since":"tomorrow"}', "output.since"),
        ("items", '[{"name":"a"}]', "output"),
        ("colour", '{"value":"green"}', "output.value"),
    ],
)
async def test_an_answer_of_another_type_is_invalid(name: str, answer: str, about: str) -> None:
    async with stage([item, items, colour], *([answer] if answer else []), ended(FinishReason.stop)) as on:
        error = await on.error(name, request(words="hi"))
        assert error.reason is Reason.output_invalid
        assert about in error.message


async def test_a_typed_answer_over_the_limit_is_never_shortened() -> None:
    @function(output=Item, max_answer_bytes=20)
    def small(words: str) -> str:
        return words

    async with stage([small], '{"name":"', "é" * 5, '"}', "never") as on:
        error = await on.error("small", request(words="hi"))
        assert (error.reason, error.partial, on.provider.closed_early) == (Reason.answer_too_large, True, 1)
        on.provider.say('{"name":"', "é" * 4, '"}')
        await on.finished("small", request(words="hi"))


async def test_a_streamed_text_is_not_kept_and_has_no_limit() -> None:
    @function(max_answer_bytes=2)
    def small(words: str) -> str:
        return words

    async with stage([small], "abc") as on:
        await on.finished("small", request(words="hi"))
        assert (await on.error("small", request(words="hi"), whole=True)).reason is Reason.answer_too_large
