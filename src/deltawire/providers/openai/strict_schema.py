"""A JSON Schema as strict modes accept it.

In: the schema of an output type, as pydantic writes it. Out: one that asks for the same values within the subset of
JSON Schema that OpenAI documents for Structured Outputs and that llama.cpp's grammars know. What the subset cannot say
is left to pydantic, which reads the answer afterwards; what would change the meaning makes the whole schema non-strict.
"""

import copy
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from deltawire.domain.json_schema import accepts_null, alternatives, as_schema, listed, members, referred
from deltawire.domain.ports import JsonSchema

_STRUCTURAL = frozenset({"type", "properties", "items", "required", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"})
_INEXPRESSIBLE = (
    *("patternProperties", "propertyNames", "prefixItems", "contains", "not", "if", "then", "else"),
    *("dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef"),
)
_LIMITS = {
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("minItems", "maxItems"),
    "string": ("minLength", "maxLength"),
}
_CONSTRAINTS = frozenset(key for keys in _LIMITS.values() for key in keys) | {"pattern", "format"}
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}  # any other name is refused
)
_UNPORTABLE_PATTERN = re.compile(
    r"""
      \(\?[^:]            # lookaround, flags, named groups
    | \\[1-9kpPbBAzZ]     # back-references, Unicode classes, boundaries
    | [^\x20-\x7e]        # llama.cpp counts bytes
    | \{\d*,?\d{4,}       # and refuses to repeat anything so often
    """,
    re.VERBOSE,
)
_MOST_REPETITIONS = 1000
"""A larger count of items or characters is left out: llama.cpp refuses grammars that repeat a rule so often."""

_PORTABLE_REFERENCE = re.compile(r"#|#/\$defs/[\w.-]+")
_NULL: dict[str, object] = {"type": "null"}


@dataclass(frozen=True, slots=True)
class StrictSchema:
    """What to send. With ``strict`` false, ``schema`` is the original one, and ``loose`` says where and why."""

    schema: dict[str, object]
    strict: bool
    loose: str | None = None


def strict(schema: JsonSchema, *, lengths: bool = True) -> StrictSchema:
    """``schema``, whose root is an object, for ``response_format``. It stays unchanged, and so does the result.

    Every object is closed and requires all its properties. An optional one may be ``null`` instead, which is to go
    from the answer before it is read (``engine/optional_nulls.py``). ``lengths`` tells whether the server knows
    ``minLength`` and ``maxLength``: they keep small local models from running on, but OpenAI and Azure refuse them.
    """
    conversion = _Conversion(schema, lengths)
    try:
        return StrictSchema(conversion.root(), True)
    except _NotStrictError as error:
        return StrictSchema(copy.deepcopy(dict(schema)), False, str(error))


class _NotStrictError(Exception):
    def __init__(self, at: str, why: str) -> None:
        super().__init__(f"{at}: {why}")


class _Conversion:
    """One schema on its way. ``at`` is where a part stands in it, as a JSON pointer."""

    def __init__(self, schema: JsonSchema, lengths: bool) -> None:
        self._root = schema
        self._dropped = frozenset[str]() if lengths else frozenset({"minLength", "maxLength"})
        self._definitions: dict[str, dict[str, object]] = {}
        self._tags: dict[int, set[str]] = {}
        self._own_name = _unused("Root", members(schema, "$defs"))

    def root(self) -> dict[str, object]:
        self._find_tags([self._root])
        start = self._root
        if "$ref" in start:  # a recursive type: only its definition can be the root, because a root is an object
            start = _merged(self._referred(start["$ref"], "#"), start, "#")
        converted = self._part(start, "#")
        if converted.get("type") != "object":
            raise _NotStrictError("#", "the root is no object")
        return converted | ({"$defs": self._definitions} if self._definitions else {})

    def _find_tags(self, pending: list[object]) -> None:
        """Note the property that tells the members of a union apart: without it, none of them can be read."""
        for part in pending:  # grows on the way
            if isinstance(part, list):
                pending += cast("list[object]", part)
            elif (schema := as_schema(part)) is not None:
                pending += schema.values()
                tag = members(schema, "discriminator").get("propertyName")
                for member in alternatives(schema, self._root) if isinstance(tag, str) else ():
                    self._tags.setdefault(id(member.get("properties")), set()).add(cast("str", tag))

    def _part(self, part: object, at: str) -> dict[str, object]:
        schema = as_schema(part)
        if not schema:
            raise _NotStrictError(at, "takes any value")
        for keyword in _INEXPRESSIBLE:
            if keyword in schema:
                raise _NotStrictError(at, f"strict modes have no '{keyword}'")
        if "$ref" in schema:
            return self._reference(schema, at)
        if "allOf" in schema:
            return self._intersection(schema, at)
        if "anyOf" in schema or "oneOf" in schema:
            return self._union(schema, at)
        return _described(self._plain(schema, at), schema)

    def _reference(self, schema: JsonSchema, at: str) -> dict[str, object]:
        reference = schema["$ref"]
        target = self._referred(reference, at)
        if any(key == "description" or key in _STRUCTURAL or key in _CONSTRAINTS for key in schema if key != "$ref"):
            return self._part(_merged(target, schema, at), at)  # strict modes take nothing beside a $ref
        name = self._own_name if reference == "#" else cast("str", reference).removeprefix("#/$defs/")
        if name not in self._definitions:
            self._definitions[name] = {}  # it may refer to itself
            self._definitions[name] = self._part(target, f"#/$defs/{name}")
        return {"$ref": f"#/$defs/{name}"}

    def _referred(self, reference: object, at: str) -> JsonSchema:
        target = referred(reference, self._root)
        if target is None or not _PORTABLE_REFERENCE.fullmatch(cast("str", reference)):
            raise _NotStrictError(at, f"refers to {reference}, which is no definition")
        if "$ref" in target:  # could be without end
            raise _NotStrictError(at, f"refers to {reference}, which only refers elsewhere")
        return target

    def _intersection(self, schema: JsonSchema, at: str) -> dict[str, object]:
        match listed(schema, "allOf"):
            case [only]:
                beside = {key: value for key, value in schema.items() if key != "allOf"}
                return self._part(_merged(as_schema(only) or {}, beside, at), at)
            case _:
                raise _NotStrictError(at, "strict modes have no 'allOf'")

    def _union(self, schema: JsonSchema, at: str) -> dict[str, object]:
        keyword = "anyOf" if "anyOf" in schema else "oneOf"
        if keyword == "oneOf" and "discriminator" not in schema:
            raise _NotStrictError(at, "strict modes have no 'oneOf'")
        if beside := [key for key in schema if key in _STRUCTURAL and key != keyword]:
            raise _NotStrictError(at, f"has '{beside[0]}' beside '{keyword}'")
        choices = [self._part(one, f"{at}/{keyword}/{index}") for index, one in enumerate(listed(schema, keyword))]
        return _described({"anyOf": choices}, schema)

    def _plain(self, schema: JsonSchema, at: str) -> dict[str, object]:
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds = cast("list[object]", kind)
            return {"anyOf": [self._plain({**schema, "type": one}, at) for one in kinds]}
        if "const" in schema or "enum" in schema:
            return _values([schema["const"]] if "const" in schema else listed(schema, "enum"), kind, at, schema)
        if not isinstance(kind, str):
            raise _NotStrictError(at, "takes values of any type")
        match kind:
            case "object":
                return self._object(schema, at)
            case "array":
                return {"type": kind, "items": self._part(schema.get("items"), f"{at}/items")} | self._limits(
                    schema, kind
                )
            case "string":
                return {"type": kind} | self._limits(schema, kind) | _shape(schema)
            case "number" | "integer" | "boolean" | "null":
                return {"type": kind} | self._limits(schema, kind)
            case _:
                raise _NotStrictError(at, f"has the unknown type '{kind}'")

    def _limits(self, schema: JsonSchema, kind: str) -> dict[str, object]:
        kept = {key: schema[key] for key in _LIMITS.get(kind, ()) if key in schema and key not in self._dropped}
        highest = _MOST_REPETITIONS if kind in ("array", "string") else sys.float_info.max  # JSON has no infinity
        return {key: limit for key, limit in kept.items() if isinstance(limit, int | float) and abs(limit) <= highest}

    def _object(self, schema: JsonSchema, at: str) -> dict[str, object]:
        properties, required = members(schema, "properties"), listed(schema, "required")
        if schema.get("additionalProperties", "properties" not in schema) is not False:
            raise _NotStrictError(at, "takes properties of any name")
        if undeclared := [name for name in required if name not in properties]:
            raise _NotStrictError(at, f"requires '{undeclared[0]}', which it does not declare")
        always = self._tags.get(id(properties), set[str]()).union(cast("list[str]", required))
        converted: dict[str, object] = {}
        for name, part in properties.items():
            inner = self._part(part, f"{at}/properties/{name}")
            can_stay = name in always or _has_one_value(part) or accepts_null(part, self._root)
            converted[name] = inner if can_stay else _or_null(inner)
        return {
            "type": "object",
            "properties": converted,
            "required": list(properties),
            "additionalProperties": False,
        }


def _merged(target: JsonSchema, beside: JsonSchema, at: str) -> JsonSchema:
    """``target`` with what stands beside the reference to it. Limits beside it win: the reader holds to both anyway."""
    own = {key: value for key, value in beside.items() if key not in ("$ref", "$defs")}
    for key in own.keys() & target.keys() & _STRUCTURAL:
        if own[key] != target[key]:
            raise _NotStrictError(at, f"says '{key}' twice")
    return {**{key: value for key, value in target.items() if key != "$defs"}, **own}


def _values(values: list[object], kind: object, at: str, schema: JsonSchema) -> dict[str, object]:
    """A fixed choice. Its type must be told, and choices of several types are told one type at a time."""
    by_kind: dict[str, list[object]] = {}
    for value in values:
        by_kind.setdefault(_kind_of(value, at), []).append(value)
    if isinstance(kind, str):
        by_kind = {
            one: of_kind for one, of_kind in by_kind.items() if kind == one or (kind, one) == ("number", "integer")
        }
    parts: list[dict[str, object]] = []
    for one, of_kind in by_kind.items():
        choice = {} if one == "null" else {"const": of_kind[0]} if "const" in schema else {"enum": of_kind}
        parts.append({"type": one, **choice})
    match parts:
        case []:
            raise _NotStrictError(at, "has no possible value")
        case [only]:
            return only
        case _:
            return {"anyOf": parts}


def _kind_of(value: object, at: str) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case _:
            raise _NotStrictError(at, "is a fixed list or object")


def _shape(schema: JsonSchema) -> dict[str, object]:
    kept: dict[str, object] = {}
    pattern, form = schema.get("pattern"), schema.get("format")
    if isinstance(pattern, str) and not _UNPORTABLE_PATTERN.search(pattern):
        kept["pattern"] = pattern
    if form in _FORMATS:
        kept["format"] = form
    return kept


def _has_one_value(part: object) -> bool:
    """Whether the property is the same, written or left out."""
    schema = as_schema(part) or {}
    return "const" in schema and "default" in schema and schema["const"] == schema["default"]


def _or_null(schema: dict[str, object]) -> dict[str, object]:
    description = {key: value for key, value in schema.items() if key == "description"}
    rest = {key: value for key, value in schema.items() if key != "description"}
    choices = listed(rest, "anyOf") or [rest]
    return {"anyOf": [*choices, dict(_NULL)]} | description


def _described(converted: dict[str, object], schema: JsonSchema) -> dict[str, object]:
    return converted | ({"description": schema["description"]} if "description" in schema else {})


def _unused(name: str, taken: Iterable[str]) -> str:
    names = set(taken)
    while name in names:
        name += "_"
    return name
