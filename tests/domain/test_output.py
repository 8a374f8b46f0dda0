"""How answers of a type are asked for and read."""

import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from deltawire import DeclarationError, function
from tests.domain.declared_types import Box, Colour, Item, Unreadable


def _ask(text: str) -> str:
    return text


@pytest.mark.parametrize(
    ("output", "answer", "value"),
    [
        (Item, b'{"name":"a","price":"2.50","more":1}', {"name": "a", "price": "2.50"}),
        (list[Item], b'{"value":[{"name":"a"}]}', [{"name": "a", "price": "1.5"}]),
        (Colour, b'{"value":"red"}', "red"),
        (int, b'{"value":5}', 5),
        (dict[str, int], b'{"a":1}', {"a": 1}),
        (Literal["x"], b'{"value":"x"}', "x"),
        (Box[int], b'{"inside":1}', {"inside": 1}),
    ],
)
def test_an_answer_is_read_as_the_output_type_without_its_wrapper(output: Any, answer: bytes, value: object) -> None:
    declared = function(output=output)(_ask)
    assert declared.output.schema is not None
    assert declared.output.schema.schema["type"] == "object"
    assert json.loads(bytes(declared.output.validate(answer))) == value
    assert declared.output.json_schema() == TypeAdapter(output).json_schema(mode="serialization")


@pytest.mark.parametrize(
    ("output", "name"), [(Item, "Item"), (Box[int], "Box_int"), (list[Item], "list"), (int | str, "output")]
)
def test_a_schema_has_a_name_that_wires_take(output: Any, name: str) -> None:
    schema = function(output=output)(_ask).output.schema
    assert schema is not None
    assert schema.name == name


@pytest.mark.parametrize("answer", [b'{"value":"green"}', b'"red"', b'{"value":"red","more":1}', b"{}"])
def test_an_answer_of_another_form_is_refused(answer: bytes) -> None:
    with pytest.raises(ValidationError):
        function(output=Colour)(_ask).output.validate(answer)


def test_text_is_asked_for_without_a_schema() -> None:
    output = function(_ask).output
    assert (output.is_text, output.schema, output.json_schema()) == (True, None, {"type": "string"})


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (Unreadable, "output=Unreadable has no JSON Schema (Unable to generate"),
        (Callable, "output=Callable has no JSON Schema"),
        (dict[str, Unreadable], "output=dict has no JSON Schema"),
        (Annotated[str, Field(pattern="(")], "has no JSON Schema (error: unclosed group)"),
        (Annotated[Item | Box[int], Field(discriminator="kind")], "has no JSON Schema"),
        ("list[", "has no JSON Schema"),
        (5, "output=output has no JSON Schema"),
    ],
)
def test_an_output_that_no_schema_expresses_fails_with_file_line_and_the_way_out(output: Any, why: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        function(output=output)(_ask)
    assert str(caught.value).startswith(f"{__file__}:{_ask.__code__.co_firstlineno}: function '_ask'")
    assert why in str(caught.value)
    assert str(caught.value).endswith("use a pydantic model, an enum, a list or dict of such, or str")
