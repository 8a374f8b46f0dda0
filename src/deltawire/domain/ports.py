"""What the engine asks of a provider and of an observer, and what it hands to them."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Protocol

from msgspec import Struct, field

from deltawire.domain.events import FinishReason, Piece, Usage
from deltawire.domain.prompt import Message
from deltawire.domain.run import RunRecord

JsonSchema = Mapping[str, object]


class Completion(Struct, frozen=True, kw_only=True):
    """How an attempt ended: the last thing that a provider yields."""

    finish_reason: FinishReason
    usage: Usage | None = None
    refusal: str | None = None
    """The model's words of refusal, in one bounded line. For a text they are its pieces as well."""


class Pulse(Protocol):
    """The attempt's signs of life, from which its limits are measured. Cheap enough to call for any network read."""

    def connecting(self) -> None:
        """A connection is being opened: the ``connect`` limit runs from here."""
        ...

    def connected(self) -> None:
        """The connection stands."""
        ...

    def received(self) -> None:
        """The provider sent something that brings no piece, such as a heartbeat: the ``idle`` limit starts anew. After
        a piece it does so by itself."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutputSchema:
    """The JSON Schema (draft 2020-12) that an answer must satisfy. Its root is always an object.

    One for each function, and equal to itself only: a provider may keep its own form of the schema by it.
    """

    name: str
    schema: JsonSchema


class Meter(Struct):
    """What an attempt has cost so far, as its provider told it: known of one that is cut, too."""

    usage: Usage | None = None


class Attempt(Struct, frozen=True, kw_only=True, eq=False):
    """One try at one provider: everything that the provider needs to know of a run."""

    model: str
    messages: tuple[Message, ...]
    max_tokens: int | None
    temperature: float | None
    seed: int | None
    output: OutputSchema | None
    pulse: Pulse
    meter: Meter = field(default_factory=Meter)


class Provider(Protocol):
    """A place where models run."""

    def stream(self, attempt: Attempt) -> AsyncGenerator[Piece | Completion, None]:
        """Ask, and yield what comes: pieces as they arrive, never an empty one, then one ``Completion``.

        Adjacent pieces of one kind that one network read brings are one piece. Closing the generator, or cancelling the
        task that waits in it, closes the connection. Raises ``RunError`` only.
        """
        ...

    async def close(self) -> None:
        """Close every connection and process. No attempt is under way any more."""
        ...


class Observer(Protocol):
    """Somebody who watches runs. Called in the event loop: must be quick and must not raise."""

    def ended(self, record: RunRecord) -> None:
        """A run is over."""
        ...
