"""An entry of ``[providers.NAME]`` with ``kind = "openai"``."""

from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, PositiveInt


class OpenAISettings(BaseModel):
    """Where an OpenAI-compatible server is, and how it likes to be spoken to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["openai"] = "openai"
    base_url: str = "https://api.openai.com/v1"
    """The URL to which ``/chat/completions`` is added."""
    api_key: str | None = None
    """A secret: as it is, or ``env:NAME``, or ``file:PATH``. Left out, no authorization is sent."""
    headers: dict[str, str] = {}
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] | None = None
    """OpenAI itself wants ``max_completion_tokens``, most other servers know ``max_tokens`` only. Unset: by the
    host."""
    structured_output: Literal["json_schema", "json_object", "none"] = "json_schema"
    """How a typed answer is asked for, for servers that know no JSON Schema."""
    max_event_bytes: PositiveInt = 8 * 1024 * 1024
    keep_alive: NonNegativeFloat = 4.0
    """Seconds for which an idle connection is kept. Shorter than the usual 5 s of servers, so that they do not close a
    connection under a call that has just been sent on it. With 0 each call has a connection of its own."""

    @property
    def is_openai(self) -> bool:
        """Whether this is OpenAI itself, which refuses some of what its imitators want."""
        return urlsplit(self.base_url).hostname == "api.openai.com"
