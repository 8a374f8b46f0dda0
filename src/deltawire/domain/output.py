"""The type of a function's answer: text, or a value that a JSON Schema describes."""

import re
from dataclasses import dataclass
from typing import Any, cast

from msgspec import Raw
from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import SchemaError

from deltawire.domain.errors import DeclarationError
from deltawire.domain.ports import OutputSchema

UNUSABLE_TYPE = (PydanticUserError, SchemaError, TypeError, NameError, SyntaxError, KeyError)
"""What pydantic raises for a type that it cannot read from JSON, or not describe."""

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Output:
    """How answers of one type are asked for and read.

    ``schema`` is ``None`` for plain text. Models are asked for objects only, because strict modes accept no other root:
    a type whose root is something else (a list, an enum, a number) is asked for as ``{"value": …}``, the ``wrapper``.
    """

    name: str
    schema: OutputSchema | None
    adapter: TypeAdapter[Any]
    wrapper: type[BaseModel] | None = None

    @property
    def is_text(self) -> bool:
        return self.schema is None

    @classmethod
    def of(cls, output: Any, at: str) -> "Output":
        """Raises ``DeclarationError``, beginning with ``at``, for a type that no JSON Schema expresses."""
        if output is str:
            return cls("str", None, TypeAdapter(str))
        name = getattr(output, "__name__", None) or "output"
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(output)
            schema = adapter.json_schema()
            if _is_object(schema):
                return cls(name, OutputSchema(name=_schema_name(name), schema=schema), adapter)
            wrapper = create_model(name, __config__=ConfigDict(extra="forbid"), value=(output, ...))
            named = OutputSchema(name=_schema_name(name), schema=wrapper.model_json_schema())
            return cls(name, named, adapter, wrapper)
        except UNUSABLE_TYPE as error:
            raise DeclarationError(
                f"{at}: output={name} has no JSON Schema ({gist(error)}): "
                "use a pydantic model, an enum, a list or dict of such, or str"
            ) from None

    def json_schema(self) -> dict[str, object]:
        """What the function's callers get: the schema of the bare value, as it is serialised."""
        return self.adapter.json_schema(mode="serialization")

    def validate(self, answer: bytes) -> Raw:
        """The value that callers get, as JSON text. Raises pydantic's ``ValidationError``.

        ``answer`` is the strict JSON that the model wrote, in the wrapper if there is one.
        """
        if self.wrapper is None:
            value = self.adapter.validate_json(answer)
        else:
            value = self.wrapper.model_validate_json(answer).__dict__["value"]
        return Raw(self.adapter.dump_json(value))


def gist(error: Exception) -> str:
    """The line of pydantic's explanation that says what is wrong: where it built a validator, that is the last."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[-1] if isinstance(error, SchemaError) else lines[0]


def _schema_name(name: str) -> str:
    """The name as wires take it: of letters, digits, ``_`` and ``-``, at most 64. A generic model is ``Page[Item]``."""
    return _NOT_IN_A_NAME.sub("_", name)[:64].strip("_") or "output"


def _is_object(schema: dict[str, Any]) -> bool:
    reference = schema.get("$ref")
    if isinstance(reference, str):  # a recursive type: its root is only a pointer into $defs
        definitions = cast("dict[str, dict[str, Any]]", schema.get("$defs", {}))
        schema = definitions.get(reference.removeprefix("#/$defs/"), {})
    return schema.get("type") == "object"
