"""How a function is run: what its decorator, the configuration file and the environment may say of it.

The same options are a function's and a variant's; what a variant does not say is as the function has it.
"""

from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    model_validator,
)

from deltawire.domain.limits import Seconds, Timeouts


def _split(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
"""A list of names; in an environment variable they stand between commas."""


Weight = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
"""A part of a whole: the sum of several must be a number that can be divided by."""


class Options(BaseModel):
    """See the module. Each is unset until somebody says it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str | None = None
    """``provider:model``."""
    models: Names = ()
    """Several in the order in which they are asked: the later ones are fallbacks. Instead of ``model``."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: PositiveInt | None = None
    """The cap on an answer's length. A caller can lower it."""
    timeouts: Timeouts = Timeouts()
    retries: NonNegativeInt = 2
    """How often a failed attempt is tried again at the same model before there is content, where that cannot bill
    twice."""
    hedge_after: Seconds | None = None
    """Seconds without content after which a second attempt is made beside the first: at the next model, or at the same
    one. Whichever brings content first is the answer, the other is broken off; both may be billed."""
    repair: bool = False
    """Whether a typed answer that is not valid is asked for once more, where the caller has seen nothing yet."""
    max_answer_bytes: PositiveInt = 4 * 1024 * 1024
    """How much of an answer is kept, where it must be kept: for a typed output, and for a reply in one piece."""

    @model_validator(mode="after")
    def _model_or_models(self) -> Self:
        if self.model is not None and self.models:
            raise ValueError("give either model or models, not both")
        if "models" in self.model_fields_set and not self.models:
            raise ValueError("models names none: name one, or leave it out")
        return self

    @property
    def chain(self) -> tuple[str, ...]:
        """The models in the order in which they are asked. Empty where none is named."""
        return self.models or ((self.model,) if self.model is not None else ())

    def overridden_by(self, other: "Options") -> Self:
        """These options, but for what ``other`` says explicitly."""
        said = {name: getattr(other, name) for name in other.model_fields_set if name in type(self).model_fields}
        if "timeouts" in said:
            said["timeouts"] = self.timeouts.model_copy(update=other.timeouts.model_dump(exclude_unset=True))
        if "model" in said or "models" in said:  # whoever names one of the two means the other one gone
            said = {"model": None, "models": ()} | said
        return self.model_copy(update=said)


class VariantOptions(Options):
    """One way to run a function: ``[functions.NAME.variants.VARIANT]``."""

    weight: Weight = 1.0
    """Its share of the users, in relation to the weights of the others. With 0 it runs for who asks for it by name."""


class FunctionSettings(Options):
    """``[functions.NAME]``."""

    variants: dict[str, VariantOptions] = {}
    """By name, in their order. With any, each run is one of them."""

    def overridden_by(self, other: Options) -> Self:
        changed = super().overridden_by(other)
        if not isinstance(other, FunctionSettings) or "variants" not in other.model_fields_set:
            return changed
        variants = dict(self.variants)
        known = {name.lower(): name for name in variants}  # variables have no case, so neither have names here
        for name, said in other.variants.items():
            meant = known.get(name.lower(), name)
            variants[meant] = variants[meant].overridden_by(said) if meant in variants else said
        return changed.model_copy(update={"variants": variants})


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the ways to run a function, as a decorator declares it: ``variants=[Variant("small", model="…")]``.

    What is left out is as the function has it. ``weight`` is the variant's share of the users in relation to the
    weights of the others.
    """

    name: str
    weight: float = 1.0
    model: str | None = None
    models: tuple[str, ...] | list[str] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    timeouts: Timeouts | None = None

    def options(self) -> dict[str, object]:
        """What it says, to be validated."""
        given = {
            "model": self.model,
            "models": tuple(self.models) or None,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "timeouts": self.timeouts,
        }
        return {"weight": self.weight, **{name: value for name, value in given.items() if value is not None}}
