"""What a JSON Schema (draft 2020-12) says of a value, as far as types written in Python use it.

In: schemas as pydantic writes them, with definitions under ``$defs``. Out: the schemas that references and unions stand
for. Nothing here changes a schema.
"""

from collections.abc import Iterator, Mapping
from typing import cast

from deltawire.domain.ports import JsonSchema

_DEFINITIONS = "#/$defs/"


def as_schema(value: object) -> JsonSchema | None:
    """``value`` where it is a schema written as an object, and not ``true``, ``false`` or something else."""
    return cast("JsonSchema", value) if isinstance(value, Mapping) else None


def members(schema: JsonSchema, keyword: str) -> Mapping[str, object]:
    """What ``schema`` holds by name under a keyword such as ``properties``; empty where it has none."""
    return as_schema(schema.get(keyword)) or {}


def listed(schema: JsonSchema, keyword: str) -> list[object]:
    """What ``schema`` lists under a keyword such as ``anyOf``; empty where it has none."""
    value = schema.get(keyword)
    return cast("list[object]", value) if isinstance(value, list) else []


def referred(reference: object, root: JsonSchema) -> JsonSchema | None:
    """The schema that a ``$ref`` names, or ``None`` for a reference to anything but the root and its definitions."""
    if reference == "#":
        return root
    if isinstance(reference, str) and reference.startswith(_DEFINITIONS):
        return as_schema(members(root, "$defs").get(reference.removeprefix(_DEFINITIONS)))
    return None


def alternatives(schema: object, root: JsonSchema) -> Iterator[JsonSchema]:
    """The schemas of which a value has to satisfy one, with unions and references taken apart."""
    pending, seen = [schema], set[int]()
    while pending:
        current = as_schema(pending.pop(0))
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        union = listed(current, "anyOf") or listed(current, "oneOf")
        if "$ref" in current:
            pending.insert(0, referred(current["$ref"], root))
        elif union:
            pending[:0] = union
        elif len(both := listed(current, "allOf")) == 1:
            pending[:0] = both
        else:
            yield current


def accepts_null(schema: object, root: JsonSchema) -> bool:
    """Whether ``null`` satisfies ``schema``."""
    return schema is True or any(_leaf_accepts_null(leaf) for leaf in alternatives(schema, root))


def _leaf_accepts_null(leaf: JsonSchema) -> bool:
    kind = leaf.get("type", "null")
    return (
        (kind == "null" or (isinstance(kind, list) and "null" in kind))
        and leaf.get("const") is None
        and ("enum" not in leaf or None in listed(leaf, "enum"))
    )
