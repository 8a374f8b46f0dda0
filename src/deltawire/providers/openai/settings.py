"""An entry of ``[providers.NAME]`` with ``kind = "openai"``, and what it shares with other entries for this wire."""

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, PositiveInt

from deltawire.domain.limits import SecondsOrZero

MaxTokensField = Literal["max_tokens", "max_completion_tokens"]
StructuredOutput = Literal["json_schema", "json_object", "none"]

_OPENAI = "api.openai.com"
_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def _sendable(headers: dict[str, str]) -> dict[str, str]:
    """RFC 9110 §5: a name is a token, a value has no control characters. A value may be a secret and is not told."""
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            raise ValueError(f"{name!r} is no name for a header")
        if not value.replace("\t", " ").isprintable():
            raise ValueError(f"the value of {name} holds characters that no HTTP header can carry")
        if name.lower() in ("content-length", "transfer-encoding", "host", "connection"):
            raise ValueError(f"{name} is not for you to set: the request has its own")
    return headers


Headers = Annotated[dict[str, str], AfterValidator(_sendable)]


class ChatSettings(BaseModel):
    """What every entry has whose server speaks chat completions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    api_key: str | None = None
    """A secret: as it is, or ``env:NAME``, ``file:PATH``, ``ssm:NAME`` or ``secretsmanager:NAME``. Left out, no key is
    sent."""
    headers: Headers = {}
    max_tokens_field: MaxTokensField | None = None
    """OpenAI itself wants ``max_completion_tokens``, most other servers know ``max_tokens`` only. Unset: by what is
    known of the server."""
    max_event_bytes: PositiveInt = 8 * 1024 * 1024
    keep_alive: SecondsOrZero = 4.0
    """Seconds for which an idle connection is kept. Shorter than the usual 5 s of servers, so that they do not close a
    connection under a call that has just been sent on it. With 0 each call has a connection of its own."""


class OpenAISettings(ChatSettings):
    """Where an OpenAI-compatible server is, and how it likes to be spoken to."""

    kind: Literal["openai"] = "openai"
    base_url: str = "https://api.openai.com/v1"
    """The URL to which ``/chat/completions`` is added."""
    structured_output: StructuredOutput = "json_schema"
    """How a typed answer is asked for, for servers that know no JSON Schema."""

    @property
    def is_openai(self) -> bool:
        """Whether this is OpenAI itself, or Azure under its URL for OpenAI's clients: they refuse some of what their
        imitators want."""
        host = urlsplit(self.base_url).hostname or ""
        return host == _OPENAI or host.endswith(_AZURE)
