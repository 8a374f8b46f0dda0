"""Schemas of pydantic types, as strict modes take them: accepted everywhere, and their meaning kept."""

import copy
import json
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from deltawire.domain.output import Output
from deltawire.engine.optional_nulls import without_optional_nulls
from deltawire.providers.openai.strict_schema import StrictSchema, strict
from tests.providers.output_types import (
    Anything,
    Cat,
    Colour,
    Deep,
    Dog,
    Everything,
    Node,
    Open,
    Pair,
    Place,
    Scores,
    Untyped,
)


def _properties(schema: StrictSchema) -> dict[str, Any]:
    properties: Any = schema.schema["properties"]
    return properties


def _strict(kind: Any) -> StrictSchema:
    return strict(TypeAdapter(kind).json_schema())


def _objects(part: object, at: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    """Each schema in a schema."""
    if isinstance(part, dict):
        schema = cast("dict[str, Any]", part)
        yield at, schema
        for keyword in ("properties", "$defs"):
            for name, inner in schema.get(keyword, {}).items():
                yield from _objects(inner, f"{at}/{keyword}/{name}")
        for index, inner in enumerate(schema.get("anyOf", [])):
            yield from _objects(inner, f"{at}/anyOf/{index}")
        if "items" in schema:
            yield from _objects(schema["items"], f"{at}/items")


_KNOWN = {
    *("type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const", "$ref", "$defs"),
    *("description", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minItems", "maxItems"),
}
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}


def _refused(schema: StrictSchema) -> list[str]:
    """What the validator of a strict mode would say, by the rules that OpenAI documents."""
    found = [] if schema.schema.get("type") == "object" else ["the root is no object"]
    for at, part in _objects(schema.schema):
        found += [f"{at}: '{key}' is not permitted" for key in part.keys() - _KNOWN]
        if "$ref" in part and len(part) > 1:
            found.append(f"{at}: $ref cannot have keywords {part.keys() - {'$ref'}}")
        if not part.keys() & {"type", "anyOf", "$ref"}:
            found.append(f"{at}: schema must have a 'type'")
        if part.get("format", "date") not in _FORMATS:
            found.append(f"{at}: '{part['format']}' is not a valid format")
        if part.get("type") == "object":
            if part.get("additionalProperties") is not False:
                found.append(f"{at}: additionalProperties must be false")
            if part.get("required") != list(part["properties"]):
                found.append(f"{at}: every property must be required")
    return found


# What is sent


@pytest.mark.parametrize("kind", [Everything, Place, Node, Cat, Dog])
def test_a_strict_mode_accepts_the_schema(kind: type[BaseModel]) -> None:
    schema = strict(kind.model_json_schema(), lengths=False)
    assert (schema.strict, schema.loose) == (True, None)
    assert _refused(schema) == []


def test_an_object_is_closed_and_requires_its_properties_in_their_order() -> None:
    assert _strict(Place).schema == {
        "type": "object",
        "description": "Somewhere.",
        "properties": {"city": {"type": "string"}, "zip": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        "required": ["city", "zip"],
        "additionalProperties": False,
    }


def test_the_schema_that_comes_in_is_not_changed_and_gives_the_same_result_again() -> None:
    for kind in (Everything, dict[str, int]):
        schema = TypeAdapter(kind).json_schema()
        before = copy.deepcopy(schema)
        first, second = strict(schema), strict(schema)
        assert schema == before
        assert json.dumps(first.schema) == json.dumps(second.schema)


def test_a_non_strict_result_shares_nothing_with_the_schema_that_came_in() -> None:
    schema = TypeAdapter(dict[str, list[Any]]).json_schema()
    result = strict(schema)
    assert result.schema == schema
    assert result.schema["additionalProperties"] is not schema["additionalProperties"]


def test_optional_means_nullable_and_the_default_is_not_sent() -> None:
    properties = _properties(_strict(Everything))
    assert properties["note"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "what else"}
    assert properties["home"] == {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]}


def test_an_optional_property_that_was_nullable_stays_as_it_was() -> None:
    assert _properties(_strict(Everything))["elsewhere"] == {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]}


def test_a_reference_with_a_description_is_written_out() -> None:
    properties = _properties(_strict(Everything))
    assert properties["place"]["description"] == "where it was"
    assert properties["place"]["properties"].keys() == {"city", "zip"}
    choice: dict[str, object] = {"type": "string", "enum": ["red", "blue"]}
    assert properties["second"] == {"anyOf": [choice, {"type": "null"}], "description": "the other colour"}


def test_a_tag_is_never_nullable_because_a_union_cannot_be_read_without_it() -> None:
    class Boat(BaseModel):
        kind: Literal["boat", "ship"] = "ship"

    class Car(BaseModel):
        kind: Literal["car"] = "car"

    class Trip(BaseModel):
        first: Boat
        by: Annotated[Boat | Car, Field(discriminator="kind")]

    schema = _strict(Trip)
    assert _properties(schema)["by"] == {"anyOf": [{"$ref": "#/$defs/Boat"}, {"$ref": "#/$defs/Car"}]}
    definitions: Any = schema.schema["$defs"]
    assert definitions["Boat"]["properties"]["kind"] == {"type": "string", "enum": ["boat", "ship"]}
    assert definitions["Car"]["properties"]["kind"] == {"type": "string", "const": "car"}


def test_an_optional_constant_is_simply_required() -> None:
    assert _properties(_strict(Everything))["version"] == {"type": "string", "const": "v1"}


def test_a_choice_of_several_types_is_told_type_by_type() -> None:
    assert _properties(_strict(Everything))["mixed"] == {
        "anyOf": [
            {"type": "string", "enum": ["a"]},
            {"type": "integer", "enum": [1]},
            {"type": "null"},
            {"type": "boolean", "enum": [True]},
        ]
    }


def test_limits_that_strict_modes_know_are_kept() -> None:
    properties = _properties(_strict(Everything))
    assert properties["points"] == {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3}
    assert properties["ratio"] == {"type": "number", "minimum": 0, "exclusiveMaximum": 1, "multipleOf": 0.25}
    assert properties["code"] == {"type": "string", "maxLength": 5, "pattern": "^[a-z]+$"}
    assert properties["on"] == {"type": "string", "format": "date"}


def test_lengths_are_left_out_for_servers_that_refuse_them() -> None:
    schema = strict(Everything.model_json_schema(), lengths=False)
    assert _properties(schema)["code"] == {"type": "string", "pattern": "^[a-z]+$"}


def test_what_no_server_knows_is_left_to_the_reader() -> None:
    properties = _properties(_strict(Everything))
    assert properties["tags"] == {"type": "array", "items": {"type": "string"}}
    assert properties["page"] == {"type": "string", "minLength": 1}


@pytest.mark.parametrize("pattern", ["^(?!a).*$", r"^(a)\1$", "^é+$", r"^\p{L}+$", "^a{2000}$", "^a{1,2000}$", "(?i)a"])
def test_patterns_that_servers_refuse_are_left_to_the_reader(pattern: str) -> None:
    schema = strict({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}, "required": ["a"]})
    assert _properties(schema)["a"] == {"type": "string"}


def test_counts_that_a_grammar_cannot_repeat_and_infinite_limits_are_left_to_the_reader() -> None:
    class Long(BaseModel):
        items: list[str] = Field(max_length=5000, min_length=1)
        size: float = Field(le=float("inf"), ge=0)

    properties = _properties(_strict(Long))
    assert properties["items"] == {"type": "array", "items": {"type": "string"}, "minItems": 1}
    assert properties["size"] == {"type": "number", "minimum": 0}


def test_a_recursive_root_is_an_object_and_its_references_stay() -> None:
    schema = TypeAdapter(Node).json_schema()
    assert schema["$ref"] == "#/$defs/Node"
    result = strict(schema)
    assert result.schema["type"] == "object"
    children: dict[str, object] = {"type": "array", "items": {"$ref": "#/$defs/Node"}, "maxItems": 3}
    assert _properties(result)["children"] == {"anyOf": [children, {"type": "null"}]}
    definitions: Any = result.schema["$defs"]
    assert definitions == {"Node": {key: value for key, value in result.schema.items() if key != "$defs"}}


def test_a_reference_to_the_root_gets_a_definition_of_its_own() -> None:
    result = strict(
        {
            "type": "object",
            "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
            "required": ["next"],
            "$defs": {"Root": {"type": "string"}},
        }
    )
    link: dict[str, object] = {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Root_"}, {"type": "null"}]}},
        "required": ["next"],
        "additionalProperties": False,
    }
    assert result.schema == link | {"$defs": {"Root_": link}}


def test_an_intersection_of_one_is_that_one() -> None:
    result = strict(
        {
            "type": "object",
            "properties": {"at": {"allOf": [{"$ref": "#/$defs/At"}], "description": "when"}},
            "required": ["at"],
            "$defs": {"At": {"type": "string", "format": "time"}},
        }
    )
    assert _properties(result)["at"] == {"type": "string", "format": "time", "description": "when"}


def test_a_list_of_types_is_a_union() -> None:
    part: dict[str, object] = {"type": ["string", "null"], "maxLength": 3}
    result = strict({"type": "object", "properties": {"a": part}, "required": ["a"]})
    assert _properties(result)["a"] == {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]}


def test_every_type_of_output_is_asked_for_strictly_in_its_wrapper() -> None:
    kinds: list[Any] = [list[Place], Colour, int, Annotated[Cat | Dog, Field(discriminator="kind")], Cat | Dog, date]
    for kind in kinds:
        output = Output.of(kind, "here").schema
        assert output is not None
        schema = strict(output.schema, lengths=False)
        assert (schema.strict, schema.loose, _refused(schema)) == (True, None, [])


# What strict modes cannot say


@pytest.mark.parametrize(
    ("kind", "loose"),
    [
        (Scores, "#/properties/scores: takes properties of any name"),
        (dict[str, int], "#: takes properties of any name"),
        (Pair, "#/properties/pair: strict modes have no 'prefixItems'"),
        (Anything, "#/properties/value: takes values of any type"),
        (Untyped, "#/properties/values/items: takes any value"),
        (Open, "#: takes properties of any name"),
        (Deep, "#/$defs/Scores/properties/scores: takes properties of any name"),
    ],
)
def test_a_free_form_schema_is_sent_as_it_is_and_not_strictly(kind: Any, loose: str) -> None:
    schema = TypeAdapter(kind).json_schema()
    assert strict(schema) == StrictSchema(schema, False, loose)


@pytest.mark.parametrize(
    "part",
    [
        True,
        {},
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        {"allOf": [{"type": "string"}, {"minLength": 1}]},
        {"not": {"type": "string"}},
        {"type": "string", "if": {"minLength": 2}, "then": {"maxLength": 3}},
        {"type": "object"},
        {"type": "array"},
        {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["c"]},
        {"type": "object", "properties": {}, "patternProperties": {"^x": {"type": "string"}}},
        {"type": "string", "anyOf": [{"maxLength": 1}, {"minLength": 5}]},
        {"$ref": "#/$defs/Missing"},
        {"$ref": "#/$defs/Loop"},
        {"$ref": "https://example.org/schema"},
        {"$ref": "#/$defs/Named", "properties": {"other": {"type": "string"}}},
        {"enum": [[1], {"a": 2}]},
        {"type": "string", "enum": [1]},
        {"type": "unheard-of"},
        "no schema",
    ],
)
def test_what_cannot_be_said_makes_the_whole_schema_non_strict(part: object) -> None:
    definitions: dict[str, object] = {
        "Loop": {"$ref": "#/$defs/Loop"},
        "Named": {"type": "object", "properties": {"a": {"type": "string"}}},
    }
    schema: dict[str, object] = {"type": "object", "properties": {"a": part}, "required": ["a"], "$defs": definitions}
    result = strict(schema)
    assert not result.strict
    assert result.schema == schema
    assert (result.loose or "").startswith("#/properties/a")


def test_a_root_that_is_no_object_is_not_strict() -> None:
    assert strict({"type": "array", "items": {"type": "string"}}).loose == "#: the root is no object"


# What comes back


def test_an_answer_with_every_optional_property_left_out_is_read_with_the_defaults() -> None:
    answer = {
        "place": {"city": "Oslo", "zip": None},
        "elsewhere": None,
        "home": None,
        "note": None,
        "colour": "red",
        "second": None,
        "mixed": None,
        "version": "v1",
        "on": "2026-02-03",
        "price": 1.10,
        "page": "https://example.org",
        "tags": ["a"],
        "points": [1],
        "code": "abc",
        "pet": {"kind": "cat", "lives": None},
        "pets": [{"kind": "dog", "name": "Rex"}, {"kind": "cat", "lives": None}],
        "tree": {"label": "t", "children": [{"label": "u", "children": None, "parent": None}], "parent": None},
        "ratio": 0.5,
    }
    schema = Everything.model_json_schema()
    read = Everything.model_validate_json(without_optional_nulls(json.dumps(answer).encode(), schema))
    assert (read.place.zip, read.home.city, read.note, read.second) == ("00000", "Rome", "none", Colour.red)
    assert read.pets == [Dog(kind="dog", name="Rex"), Cat()]
    assert read.tree == Node(label="t", children=[Node(label="u")])
