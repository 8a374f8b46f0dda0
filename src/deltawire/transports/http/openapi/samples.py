"""Example values for schemas, for a reader to start from.

The author's own examples go first. Nothing is made up where a schema asks for what cannot be guessed (a pattern, a
number that divides, a validator's taste): then there is no example.
"""

from collections.abc import Mapping

from deltawire.domain.json_schema import as_schema, listed, members, referred
from deltawire.domain.ports import JsonSchema


class Unguessable(Exception):
    """There is no telling what the schema would accept."""


_SAMPLES: Mapping[str, object] = {"boolean": True, "null": None}
_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T09:30:00Z",
    "time": "09:30:00Z",
    "duration": "PT30M",
    "uuid": "0f8fad5b-d9cb-469f-a165-70867728950e",
    "email": "mia@example.com",
    "uri": "https://example.com/",
}
_DEEPEST = 8
_HARD = frozenset({"pattern", "multipleOf", "not", "if", "dependentSchemas", "dependentRequired", "patternProperties"})
_HARD_TOO = frozenset({"propertyNames", "contains", "uniqueItems", "minProperties", "unevaluatedProperties"})


def sample(schema: JsonSchema, root: JsonSchema | None = None, depth: int = 0) -> object:
    """A value that the schema accepts. Raises ``Unguessable``. ``root`` holds the definitions."""
    root = schema if root is None else root
    if depth > _DEEPEST or (_HARD | _HARD_TOO) & schema.keys():
        raise Unguessable
    if "const" in schema:
        return schema["const"]
    for given in (listed(schema, "examples"), listed(schema, "enum")):
        if given:
            return given[0]
    if "$ref" in schema:
        return _first([referred(schema["$ref"], root)], root, depth)
    if choices := listed(schema, "anyOf") or listed(schema, "oneOf") or listed(schema, "allOf"):
        if len(choices) > 1 and "allOf" in schema:
            raise Unguessable
        return _first(choices, root, depth)
    match schema.get("type"):
        case "object":
            return _object(schema, root, depth)
        case "array":
            return _array(schema, root, depth)
        case "string":
            return _string(schema)
        case "integer" | "number":
            return _number(schema)
        case str() as kind if kind in _SAMPLES:
            return _SAMPLES[kind]
        case _:
            raise Unguessable


def _first(choices: list[object] | list[JsonSchema | None], root: JsonSchema, depth: int) -> object:
    """The first of the choices that can be guessed."""
    for choice in choices:
        try:
            schema = as_schema(choice)
            if schema is not None:
                return sample(schema, root, depth + 1)
        except Unguessable:
            continue
    raise Unguessable


def _object(schema: JsonSchema, root: JsonSchema, depth: int) -> dict[str, object]:
    properties = members(schema, "properties")
    needed = [name for name in listed(schema, "required") if isinstance(name, str)]
    return {name: _first([as_schema(properties.get(name))], root, depth) for name in needed}


def _array(schema: JsonSchema, root: JsonSchema, depth: int) -> list[object]:
    if "prefixItems" in schema:
        return [_first([as_schema(item)], root, depth) for item in listed(schema, "prefixItems")]
    fewest, most = _whole(schema, "minItems", 0), _whole(schema, "maxItems", 1)
    count = max(fewest, min(1, most))
    if count > 1 and fewest > 4:
        raise Unguessable
    return [_first([as_schema(schema.get("items"))], root, depth) for _ in range(count)]


def _string(schema: JsonSchema) -> str:
    if "format" in schema:
        known = _FORMATS.get(str(schema["format"]))
        if known is None:
            raise Unguessable
        return known
    text = "A red kettle and two lamps"
    if _whole(schema, "minLength", 0) > len(text):
        raise Unguessable
    return text[: _whole(schema, "maxLength", len(text))]


def _number(schema: JsonSchema) -> int | float:
    bounds = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
    low, above, high, below = (_bound(schema, name) for name in bounds)
    for guess in (1, 0, 2, low, high, above + 1, below - 1):
        if low <= guess <= high and above < guess < below:
            return int(guess) if float(guess).is_integer() else guess
    raise Unguessable


def _bound(schema: JsonSchema, name: str) -> float:
    value = schema.get(name)
    if isinstance(value, int | float):
        return float(value)
    return float("-inf") if "inimum" in name else float("inf")


def _whole(schema: JsonSchema, name: str, otherwise: int) -> int:
    value = schema.get(name)
    return value if isinstance(value, int) else otherwise
