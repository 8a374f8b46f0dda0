"""How one server wants chat completions: where a model is, and which of the request's fields it knows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from deltawire.providers.openai.settings import MaxTokensField, StructuredOutput


class Credential(Protocol):
    """The headers that tell a server who asks."""

    async def headers(self) -> Mapping[str, str]:
        """For one attempt: a token may have changed since the last one. Raises ``RunError``."""
        ...

    async def renewed(self, refused: Mapping[str, str]) -> bool:
        """Whether there are other headers now than those that a server has just refused (401)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    base_url: str
    path: Callable[[str], str]
    """What to add to ``base_url`` for a model."""
    headers: Mapping[str, str]
    """For every request, besides the credential's."""
    max_tokens_field: MaxTokensField
    structured_output: StructuredOutput
    counts_streams: bool
    """Whether it knows ``stream_options``, with which a stream tells its usage."""
    lengths: bool
    """Whether it knows ``minLength`` and ``maxLength`` in a strict schema."""
    max_event_bytes: int
    keep_alive: float
    hint: Callable[[str, int, str | None], str | None]
    """The way out of a refusal, from the model that was asked for, the status and the code of the error. ``None`` where
    the server's own words are enough."""
