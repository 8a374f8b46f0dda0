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


def _take_out(value: object, root: JsonSchema) -> bool:
    schemas = _Schemas(root)
    changed = False
    pending: list[tuple[object, list[JsonSchema]]] = [(value, schemas.of(root))]
    while pending:  # not recursive: an answer may be nested as deep as a decoder lets it
        current, possible = pending.pop()
        if isinstance(current, list):
            items = [leaf for schema in possible for leaf in schemas.of(schema.get("items"))]
            pending += ((item, items) for item in cast("list[object]", current))
        elif isinstance(current, dict):
            fields = cast("dict[str, object]", current)
            fitting = schemas.fitting(fields, possible)
            for name in list(fields):
                inner = fields[name]
                if type(inner) in (dict, list):
                    pending.append((inner, [leaf for one in fitting for leaf in schemas.of_property(one, name)]))
                elif inner is None and fitting and all(schemas.null_means_left_out(one, name) for one in fitting):
                    del fields[name]
                    changed = True
    return changed


class _Schemas:
    """The parts of one schema, each taken apart once: a list has many items of one kind."""

    def __init__(self, root: JsonSchema) -> None:
        self._root = root
        self._leaves: dict[int, list[JsonSchema]] = {}
        self._left_out: dict[tuple[int, str], bool] = {}

    def of(self, part: object) -> list[JsonSchema]:
        """What a value has to satisfy one of; nothing where that is not told."""
        leaves = self._leaves.get(id(part))
        if leaves is None:
            leaves = self._leaves[id(part)] = list(alternatives(part, self._root))
        return leaves

    def of_property(self, schema: JsonSchema, name: str) -> list[JsonSchema]:
        return self.of(members(schema, "properties").get(name, schema.get("additionalProperties")))

    def fitting(self, fields: dict[str, object], possible: list[JsonSchema]) -> list[JsonSchema]:
        """Which of a union ``fields`` can be: by tags and required names, and by all names if that decides."""
        if len(possible) < 2:
            return possible
        fit = [
            schema
            for schema in possible
            if all(name in fields for name in listed(schema, "required"))
            and all(self._tag_fits(fields.get(name), part) for name, part in members(schema, "properties").items())
        ]
        return [schema for schema in fit if fields.keys() <= members(schema, "properties").keys()] or fit

    def _tag_fits(self, value: object, part: object) -> bool:
        if not isinstance(value, str | int):  # left out, or nothing that tells members apart
            return True
        leaves = self.of(part)
        if not all("const" in leaf or "enum" in leaf for leaf in leaves):
            return True
        allowed = [one for leaf in leaves for one in ([leaf["const"]] if "const" in leaf else listed(leaf, "enum"))]
        return any(type(one) is type(value) and one == value for one in allowed)

    def null_means_left_out(self, schema: JsonSchema, name: str) -> bool:
        known = self._left_out.get((id(schema), name))
        if known is None:
            declared = as_schema(members(schema, "properties").get(name))
            optional = declared is not None and name not in listed(schema, "required")
            known = self._left_out[id(schema), name] = optional and not accepts_null(declared, self._root)
        return known
