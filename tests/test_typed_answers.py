"""Output types of every kind, asked of the real local model and of a script: a valid value or a named reason."""

import json
from collections.abc import AsyncGenerator
from datetime import date
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Raw
from pydantic import BaseModel, Field, ValidationError

from deltawire import DeclarationError, Prompt, function
from deltawire.bootstrap.core import Core, build_core
from deltawire.bootstrap.load import load_functions
from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Finished
from deltawire.domain.function import Function
from deltawire.domain.run import RunRequest
from deltawire.settings import Settings
from deltawire.testing import Client

pytestmark = pytest.mark.anyio

Name = Annotated[str, Field(max_length=20)]


class Mood(StrEnum):
    happy = "happy"
    sad = "sad"


class Address(BaseModel):
    city: Name
    zip: Name | None = None


class Person(BaseModel):
    name: Name
    age: int = Field(ge=0, le=150)
    address: Address | None = None
    nicknames: list[Name] = Field(default=[], max_length=2)


class Part(BaseModel):
    name: Name
    parts: list["Part"] = Field(default=[], max_length=1)


class Bill(BaseModel):
    day: date
    total: Decimal = Field(max_digits=6, decimal_places=2)


def _declared(name: str, output: Any, said: str) -> Function:
    def ask(text: str) -> Prompt:
        return Prompt(system=said, user=text)

    return function(output=output, temperature=0, max_tokens=60, name=name)(ask)


FUNCTIONS = {
    "mood": _declared("mood", Mood, "Is the writer happy or sad?"),
    "person": _declared("person", Person, "Who is it? Answer with name, age and address."),
    "counts": _declared("counts", dict[str, int], "Count the fruits, as a JSON object of numbers."),
    "part": _declared("part", Part, "Name the thing and its part."),
    "bill": _declared("bill", Bill, "When was it and how much?"),
    "names": _declared("names", Annotated[list[Name], Field(max_length=3)], "List the names."),
}
NAMED = {Reason.output_invalid, Reason.output_truncated}
"""What a small model may do wrong."""


@pytest.fixture(scope="module")
async def core() -> AsyncGenerator[Core]:
    shop = load_functions(str(Path(__file__).parents[1] / "examples" / "shop.py"))
    core = build_core({**FUNCTIONS, "classify_review": shop["classify_review"]}, Settings.model_construct(), [])
    yield core
    await core.close()


@pytest.mark.parametrize("name", [*FUNCTIONS, "classify_review"])
async def test_the_local_model_gives_a_valid_value_or_a_named_reason(core: Core, name: str) -> None:
    said = Raw(msgspec.json.encode("Anna, 30, of Rome was happy about 2 plums and 3 figs on 2026-05-04 for 7.50"))
    outcome = await core.engine.arrive("test").outcome(name, RunRequest(said))
    match outcome:
        case Finished(output=Raw() as output):
            adapter = core.engine.plan(name).function.output.adapter
            assert adapter.dump_json(adapter.validate_json(bytes(output))) == bytes(output)
        case Error() as error:
            assert error.reason in NAMED, error
            assert error.message
        case other:
            raise AssertionError(other)


RIGHT: list[tuple[str, str, object]] = [
    ("mood", '{"value": "sad"}', "sad"),
    ("person", '{"name": "Anna", "age": 30}', {"name": "Anna", "age": 30, "address": None, "nicknames": []}),
    (
        "person",
        '{"name": "Anna", "age": 30, "address": {"city": "Rome", "zip": null}, "nicknames": null}',
        {"name": "Anna", "age": 30, "address": {"city": "Rome", "zip": None}, "nicknames": []},
    ),
    ("counts", '{"plums": 2, "figs": 3}', {"plums": 2, "figs": 3}),
    ("counts", '{"a big one": 12345678901234567890}', {"a big one": 12345678901234567890}),
    ("part", '{"name": "a", "parts": [{"name": "b"}]}', {"name": "a", "parts": [{"name": "b", "parts": []}]}),
    ("bill", '{"day": "2026-05-04", "total": "7.50"}', {"day": "2026-05-04", "total": "7.50"}),
    ("names", '{"value": ["a", "b"]}', ["a", "b"]),
]


@pytest.mark.parametrize(("name", "answer", "output"), RIGHT)
async def test_a_right_answer_comes_out_as_it_is(name: str, answer: str, output: object) -> None:
    async with Client(FUNCTIONS.values(), answer) as client:
        assert await client.run(name, text="hi") == output


@pytest.mark.parametrize(
    ("name", "answer", "told"),
    [
        ("mood", '{"value": "angry"}', "output.value: Input should be 'happy' or 'sad'"),
        ("mood", '"happy"', "output: Input should be an object"),
        ("person", '{"name": "Anna", "age": 200}', "output.age: Input should be less than or equal to 150"),
        ("person", '{"name": "Anna"}', "output.age: Field required"),
        ("person", '{"name": "Anna", "age": 3, "address": {}}', "output.address.city: Field required"),
        (
            "person",
            '{"name": "A", "age": 3, "nicknames": ["a", "b", "c"]}',
            "output.nicknames: List should have at most",
        ),
        ("counts", '{"plums": 2.5}', "output.plums: Input should be a valid integer"),
        ("part", '{"name": "a", "parts": [{}]}', "output.parts.0.name: Field required"),
        ("bill", '{"day": "2026-02-30", "total": "7.50"}', "output.day: "),
        ("bill", '{"day": "2026-05-04", "total": "7.505"}', "output.total: Decimal input should have no more than 2"),
        ("names", '{"value": ["a", "b", "c", "d"]}', "output.value: List should have at most 3"),
        ("names", '{"value": ["a", "b"', "is not the JSON of"),
    ],
)
async def test_a_wrong_answer_is_a_named_reason_and_never_made_to_fit(name: str, answer: str, told: str) -> None:
    async with Client(FUNCTIONS.values(), answer) as client:
        with pytest.raises(RunError) as failure:
            await client.run(name, text="hi")
    assert failure.value.reason is Reason.output_invalid
    assert told in failure.value.message


@pytest.mark.parametrize("name", FUNCTIONS)
def test_callers_are_told_the_schema_of_the_bare_value(name: str) -> None:
    output = FUNCTIONS[name].output
    assert "value" not in json.dumps(output.json_schema().get("properties", {}))
    with pytest.raises(ValidationError):
        output.validate(b"[[]]")


def test_a_type_that_no_schema_expresses_is_refused_where_it_is_declared() -> None:
    class Opaque:
        pass

    for output in (Opaque, dict[str, Opaque], list[Opaque]):
        with pytest.raises(DeclarationError, match=r"test_typed_answers\.py:\d+: function 'bad'.* has no JSON Schema"):
            _declared("bad", output, "")
