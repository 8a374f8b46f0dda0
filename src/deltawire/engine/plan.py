"""What the engine needs to run a function: the declaration with its settings in force, and the model behind it."""

from dataclasses import dataclass

from deltawire.domain.function import Function
from deltawire.domain.ports import Provider


@dataclass(frozen=True, slots=True)
class Model:
    """A model at a provider. ``name`` is the whole ``provider:model``, ``id`` what the provider calls it."""

    name: str
    id: str
    provider: Provider


@dataclass(frozen=True, slots=True)
class Plan:
    """A function as it is served."""

    function: Function
    model: Model
