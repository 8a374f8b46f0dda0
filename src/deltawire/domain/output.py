"""The type of a function's answer: text, or a value that a JSON Schema describes."""

from dataclasses import dataclass
from typing import Any, cast

from msgspec import Raw
from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model
from pydantic.errors import PydanticUserError

from deltawire.domain.errors import DeclarationError
from deltawire.domain.ports import OutputSchema


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
                return cls(name, OutputSchema(name=name, schema=schema), adapter)
            wrapper = create_model(name, __config__=ConfigDict(extra="forbid"), value=(output, ...))
            return cls(name, OutputSchema(name=name, schema=wrapper.model_json_schema()), adapter, wrapper)
        except (PydanticUserError, TypeError) as error:
            reason = str(error).partition("\n")[0]
            raise DeclarationError(
                f"{at}: output={name} has no JSON Schema ({reason}): "
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


def _is_object(schema: dict[str, Any]) -> bool:
    reference = schema.get("$ref")
    if isinstance(reference, str):  # a recursive type: its root is only a pointer into $defs
        definitions = cast("dict[str, dict[str, Any]]", schema.get("$defs", {}))
        schema = definitions.get(reference.removeprefix("#/$defs/"), {})
    return schema.get("type") == "object"
