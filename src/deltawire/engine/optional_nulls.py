"""Optional properties that a model answered with ``null``.

In: an answer's JSON text and the schema that it was asked for with. Out: the answer without the nulls that mean "left
out". Strict modes make a model write every property, so ``null`` is the only way to leave an optional one out; the
type's own default takes its place when the answer is read.
"""

from typing import cast

from msgspec import Raw, json

from deltawire.domain.json_schema import accepts_null, alternatives, as_schema, listed, members
from deltawire.domain.ports import JsonSchema

_EXACT = json.Decoder[object](float_hook=lambda digits: Raw(digits.encode()))  # a float would round them


def without_optional_nulls(answer: bytes, schema: JsonSchema) -> bytes:
    """``answer`` without each ``null`` of a property that ``schema`` neither requires nor lets be ``null``.

    Everything else stays, numbers to their last digit; where there is nothing to take out, the same bytes. Where
    several members of a union fit an object, a ``null`` goes only if all of them agree.
    """
    if b"null" not in answer:
        return answer
    try:
        value = _EXACT.decode(answer)
        return json.encode(value) if _take_out(value, schema) else answer
    except RecursionError:  # nested deeper than can be rebuilt: its reader decides
        return answer


def _take_out(root_value: object, root: JsonSchema) -> bool:
    changed = False
    pending: list[tuple[object, list[JsonSchema]]] = [(root_value, list(alternatives(root, root)))]
    while pending:  # not recursive: an answer may be nested as deep as a decoder lets it
        value, schemas = pending.pop()
        if isinstance(value, list):
            items = [leaf for schema in schemas for leaf in alternatives(schema.get("items"), root)]
            pending += ((item, items) for item in cast("list[object]", value))
        elif isinstance(value, dict):
            fields = cast("dict[str, object]", value)
            fitting = _fitting(fields, schemas, root)
            for name in list(fields):
                if fields[name] is not None:
                    pending.append((fields[name], [leaf for one in fitting for leaf in _property(one, name, root)]))
                elif fitting and all(_means_left_out(one, name, root) for one in fitting):
                    del fields[name]
                    changed = True
    return changed


def _fitting(fields: dict[str, object], schemas: list[JsonSchema], root: JsonSchema) -> list[JsonSchema]:
    """The members of a union that ``fields`` can be: by tags and required names, and by all names if that decides."""
    possible = [
        schema
        for schema in schemas
        if all(name in fields for name in listed(schema, "required"))
        and all(
            _tag_fits(fields[name], sub, root) for name, sub in members(schema, "properties").items() if name in fields
        )
    ]
    return [schema for schema in possible if fields.keys() <= members(schema, "properties").keys()] or possible


def _tag_fits(value: object, schema: object, root: JsonSchema) -> bool:
    if value is None or not isinstance(value, str | int):
        return True
    leaves = list(alternatives(schema, root))
    if not all("const" in leaf or "enum" in leaf for leaf in leaves):
        return True
    allowed = [one for leaf in leaves for one in ([leaf["const"]] if "const" in leaf else listed(leaf, "enum"))]
    return any(type(one) is type(value) and one == value for one in allowed)


def _property(schema: JsonSchema, name: str, root: JsonSchema) -> list[JsonSchema]:
    declared = members(schema, "properties").get(name, schema.get("additionalProperties"))
    return list(alternatives(declared, root))


def _means_left_out(schema: JsonSchema, name: str, root: JsonSchema) -> bool:
    declared = as_schema(members(schema, "properties").get(name))
    return declared is not None and name not in listed(schema, "required") and not accepts_null(declared, root)
