"""An input for a function of which only the schema is known, to be shown or sent."""

from typing import Any, cast

_DEEP = 6
"""Levels after which a sample ends, whatever is required there: a type may hold itself."""


def sample_input(schema: dict[str, Any]) -> object:
    """Something for each required field, so that the shape can be seen; it need not satisfy every limit."""
    return _sample(schema, schema.get("$defs", {}), depth=0)


def _sample(schema: dict[str, Any], definitions: dict[str, dict[str, Any]], depth: int) -> object:
    if reference := schema.get("$ref"):
        schema = definitions[str(reference).removeprefix("#/$defs/")]
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    if depth > _DEEP:
        return None
    if members := schema.get("enum"):
        return members[0]
    if choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return _sample(choices[0], definitions, depth + 1)
    match schema.get("type"):
        case "object":
            fields = cast("dict[str, dict[str, Any]]", schema.get("properties", {}))
            return {name: _sample(fields[name], definitions, depth + 1) for name in schema.get("required", [])}
        case "array":
            return []
        case "boolean":
            return True
        case "integer" | "number":
            return 1
        case _:
            return "Say hello"
