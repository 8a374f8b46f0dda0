"""The schemas that a document shares, each under a name of its own.

In: schemas as pydantic writes them, each with its own ``$defs``. Out: the same schemas with references into
``#/components/schemas``. Equal definitions of several functions become one component; unequal ones of one name get
names that differ.
"""

import re
from collections.abc import Callable, Mapping
from typing import cast

import msgspec

from deltawire.domain.json_schema import as_schema, members
from deltawire.domain.ports import JsonSchema

Schema = dict[str, object]
Rename = Callable[[str], str]

_DEFINITIONS = "#/$defs/"
_COMPONENTS = "#/components/schemas/"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")  # OpenAPI 3.1 §4.8.7.1
_INNER = ("items", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains", "propertyNames")
_CONDITIONS = ("not", "if", "then", "else")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "dependentSchemas")
_encode = msgspec.json.Encoder(order="deterministic").encode


class Components:
    """Collects them."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}
        self._names: dict[tuple[str, bytes], str] = {}

    def add(self, name: str, schema: Schema) -> Schema:
        """A reference to a schema that has no definitions of its own."""
        return _reference(self._named(name, _encode(schema), lambda: schema))

    def adopt(self, name: str, schema: JsonSchema) -> Schema:
        """A schema of pydantic's for use in the document: a reference for what is an object, itself for the rest."""
        definitions = members(schema, "$defs")
        root = {key: value for key, value in schema.items() if key != "$defs"}
        if "properties" in root and name not in definitions:
            return _reference(self._define({**definitions, name: root})[name])
        names = self._define(definitions)
        return _moved(root, lambda defined: _COMPONENTS + names[defined])

    def _define(self, definitions: Mapping[str, object]) -> dict[str, str]:
        """Make components of the definitions. Returns their names, by those that they had."""
        names: dict[str, str] = {}
        new: list[str] = []
        for name in definitions:
            meaning = _encode({reached: definitions[reached] for reached in _reachable(name, definitions)})
            known = len(self.schemas)
            names[name] = self._named(name, meaning, Schema)
            if len(self.schemas) > known:
                new.append(name)
        for name in new:  # definitions may refer to each other, so all names come first
            schema = as_schema(definitions[name]) or {}
            moved = _moved(schema, lambda defined: _COMPONENTS + names[defined])
            # Generators name classes by titles, which must then be as different as the components' names.
            self.schemas[names[name]] = {**moved, "title": names[name]} if "title" in moved else moved
        return names

    def _named(self, wanted: str, meaning: bytes, schema: Callable[[], Schema]) -> str:
        """The name of what ``meaning`` tells apart, which is added if it is new."""
        wanted = _NOT_IN_A_NAME.sub("_", wanted).strip("_") or "Schema"
        name = self._names.get((wanted, meaning))
        if name is None:
            taken = {other.lower() for other in self.schemas}  # generators turn names into ones that ignore case
            free = (wanted + suffix for suffix in ("", *map(str, range(2, len(taken) + 3))))
            name = next(each for each in free if each.lower() not in taken)
            self._names[wanted, meaning] = name
            self.schemas[name] = schema()
        return name


def _reference(name: str) -> Schema:
    return {"$ref": _COMPONENTS + name}


def _moved(schema: JsonSchema, rename: Rename) -> Schema:
    """The schema with its references led elsewhere. What only looks like a reference, in a default or an example, is
    data and stays."""
    moved = {key: _moved_keyword(key, value, rename) for key, value in schema.items() if key != "$defs"}
    if set(moved) == {"$ref", "title"}:  # a title beside a reference makes generators write a class of its own
        del moved["title"]
    return moved


def _moved_keyword(key: str, value: object, rename: Rename) -> object:
    if key == "$ref" and isinstance(value, str):
        return _moved_reference(value, rename)
    if key in _INNER or key in _CONDITIONS:
        return _moved_any(value, rename)
    if key in _LISTS and isinstance(value, list):
        return [_moved_any(each, rename) for each in cast("list[object]", value)]
    inner = as_schema(value)
    if key in _MAPS and inner is not None:
        return {name: _moved_any(each, rename) for name, each in inner.items()}
    if key == "discriminator" and inner is not None:
        mapping = {tag: _moved_reference(str(to), rename) for tag, to in members(inner, "mapping").items()}
        return {**inner, "mapping": mapping} if mapping else inner
    return value


def _moved_any(value: object, rename: Rename) -> object:
    schema = as_schema(value)
    return value if schema is None else _moved(schema, rename)


def _moved_reference(reference: str, rename: Rename) -> str:
    return rename(reference.removeprefix(_DEFINITIONS)) if reference.startswith(_DEFINITIONS) else reference


def _reachable(name: str, definitions: Mapping[str, object]) -> list[str]:
    """The definitions that one refers to, directly or not, with itself."""
    reached: set[str] = set()
    pending = [name]

    def note(other: str) -> str:
        pending.append(other)
        return other

    while pending:
        current = pending.pop()
        if current not in reached and current in definitions:
            reached.add(current)
            _moved_any(definitions[current], note)
    return sorted(reached)
