"""What each function runs with, when the decorator, the configuration file, the environment and the command line have
spoken. Opens nothing: models are names here."""

from collections.abc import Mapping
from dataclasses import dataclass

from deltawire.domain.errors import DeclarationError
from deltawire.domain.function import Function
from deltawire.domain.options import FunctionSettings, Options
from deltawire.settings import DEFAULT_MODEL, Settings


@dataclass(frozen=True, slots=True)
class ResolvedWay:
    """One variant, or the one way of a function without variants, with its options and models in force."""

    variant: str | None
    weight: float
    options: Options
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resolved:
    """A function with its settings in force. The first way is the one that is declared first."""

    function: Function
    ways: tuple[ResolvedWay, ...]

    @property
    def models(self) -> str:
        """The models in a few words: ``a:b``, ``a:b, then c:d``, ``small 90 %: a:b; large 10 %: c:d``."""
        total = sum(way.weight for way in self.ways)
        shown = {way.variant: ", then ".join(way.models) for way in self.ways}
        if len(self.ways) == 1:
            return shown[self.ways[0].variant]
        return "; ".join(f"{way.variant} {way.weight / total:.0%}: {shown[way.variant]}" for way in self.ways)


def resolved(functions: Mapping[str, Function], settings: Settings, model: str | None = None) -> dict[str, Resolved]:
    """``model`` is the command line's and goes before everything. Raises ``DeclarationError`` for what cannot work."""
    known = {name.lower() for name in functions}
    for name in settings.functions:
        if name.lower() not in known:
            raise DeclarationError(f"the settings name a function '{name}'; known: {', '.join(sorted(functions))}")
    return {name: _resolved(function, settings, model) for name, function in functions.items()}


def _resolved(declared: Function, settings: Settings, model: str | None) -> Resolved:
    in_force = _in_force(declared, settings)
    function = declared.with_settings(in_force)
    general = settings.model or DEFAULT_MODEL
    if not in_force.variants:
        return Resolved(function, (_way(None, 1.0, in_force, model, general),))
    ways = tuple(
        _way(name, variant.weight, in_force.overridden_by(variant), model, general)
        for name, variant in in_force.variants.items()
    )
    if not any(way.weight for way in ways):
        raise DeclarationError(f"{declared.where}: all variants of '{declared.name}' have weight 0: give one a weight")
    return Resolved(function, ways)


def _way(variant: str | None, weight: float, options: Options, model: str | None, general: str) -> ResolvedWay:
    return ResolvedWay(variant, weight, options, (model,) if model else options.chain or (general,))


def _in_force(function: Function, settings: Settings) -> FunctionSettings:
    """The function's settings under the precedence: file and environment, then the decorator, then what is general."""
    declared = FunctionSettings(timeouts=settings.timeouts).overridden_by(function.settings)
    for name, said in settings.functions.items():  # variables have no case, so neither have names here
        if name.lower() == function.name.lower():
            declared = declared.overridden_by(said)
    return declared
