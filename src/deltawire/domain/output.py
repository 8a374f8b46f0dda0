"""The type of a function's answer: text, or a value that a JSON Schema describes."""

from dataclasses import dataclass
from typing import Any, cast

from msgspec import Raw
from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from deltawire.domain.errors import DeclarationError
from deltawire.domain.ports import OutputSchema

_WRAPPER = "value"


@dataclass(frozen=True, slots=True)
class Output:
    """How answers of one type are asked for and read.

    ``schema`` is ``None`` for plain text. Models are asked for objects only, because strict modes accept no other root:
    a type whose root is something else (a list, an enum, a number) is asked for as ``{"value": …}``, which makes it
    ``wrapped``.
    """

    schema: OutputSchema | None
    adapter: TypeAdapter[Any]
    wrapped: bool

    @property
    def is_text(self) -> bool:
        return self.schema is None

    @classmethod
    def of(cls, output: Any, at: str) -> "Output":
        """Raises ``DeclarationError``, beginning with ``at``, for a type that no JSON Schema expresses."""
        if output is str:
            return cls(None, TypeAdapter(str), False)
        name = getattr(output, "__name__", None) or "output"
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(output)
            schema = adapter.json_schema(mode="validation")
        except (PydanticUserError, TypeError) as error:
            reason = str(error).partition("\n")[0]
            raise DeclarationError(
                f"{at}: output={name} has no JSON Schema ({reason}): "
                "use a pydantic model, an enum, a list or dict of such, or str"
            ) from None
        wrapped = not _is_object(schema)
        return cls(OutputSchema(name=name, schema=_wrap(schema) if wrapped else schema), adapter, wrapped)

    def json_schema(self) -> dict[str, object]:
        """What the function's callers get: the schema of the bare value, as it is serialised."""
        return self.adapter.json_schema(mode="serialization")

    def validate(self, answer: bytes) -> Raw:
        """The answer's JSON text as the value that callers get. Raises pydantic's ``ValidationError``.

        ``answer`` is strict JSON already, and unwrapped.
        """
        return Raw(self.adapter.dump_json(self.adapter.validate_json(answer)))


def _is_object(schema: dict[str, Any]) -> bool:
    reference = schema.get("$ref")
    if isinstance(reference, str):  # a recursive type: its root is only a pointer into $defs
        definitions = cast("dict[str, dict[str, Any]]", schema.get("$defs", {}))
        schema = definitions.get(reference.removeprefix("#/$defs/"), {})
    return schema.get("type") == "object"


def _wrap(schema: dict[str, Any]) -> dict[str, object]:
    definitions = schema.get("$defs")
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    wrapped: dict[str, object] = {
        "type": "object",
        "properties": {_WRAPPER: inner},
        "required": [_WRAPPER],
        "additionalProperties": False,
    }
    return wrapped | ({"$defs": definitions} if definitions else {})
