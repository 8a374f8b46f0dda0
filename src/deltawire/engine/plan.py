"""What the engine needs to run a function: the declaration, and the ways to run it with the models behind them."""

from dataclasses import dataclass

from deltawire.domain.function import Function
from deltawire.domain.options import Options
from deltawire.domain.ports import Provider
from deltawire.engine.breaker import NEVER_OPENS, Breaker


@dataclass(frozen=True, slots=True)
class Model:
    """A model at a provider. ``name`` is the whole ``provider:model``, ``id`` what the provider calls it."""

    name: str
    id: str
    provider: Provider
    breaker: Breaker = NEVER_OPENS
    """One for each name, whichever functions use the model."""


@dataclass(frozen=True, slots=True)
class Way:
    """One variant as it is run: its options in force, and its models, the first of which is asked first.

    A function that declares no variants has one way, which has no name.
    """

    variant: str | None
    weight: float
    options: Options
    models: tuple[Model, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A function as it is served. It has one way at least, and one with a weight."""

    function: Function
    ways: tuple[Way, ...]
