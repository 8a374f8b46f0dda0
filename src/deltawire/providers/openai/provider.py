"""A server that takes OpenAI's own URLs and key: OpenAI itself, and most others."""

from collections.abc import Mapping

from deltawire.providers.kept_secret import KeptSecret
from deltawire.providers.openai.chat_completions import ChatCompletions
from deltawire.providers.openai.settings import OpenAISettings
from deltawire.providers.openai.wire import Wire


class OpenAI(ChatCompletions):
    """One entry of the settings."""

    def __init__(self, name: str, settings: OpenAISettings, api_key: KeptSecret | None) -> None:
        super().__init__(name, wire_of(settings), Key(api_key, "authorization", "Bearer "))


class Key:
    """Implements ``wire.Credential``: a secret in a header, or none where a gateway knows us by other headers."""

    def __init__(self, secret: KeptSecret | None, header: str, scheme: str = "") -> None:
        self._secret = secret
        self._header = header
        self._scheme = scheme

    async def headers(self) -> Mapping[str, str]:
        return {self._header: self._scheme + self._secret.value} if self._secret is not None else {}

    async def renewed(self, refused: Mapping[str, str]) -> bool:
        if self._secret is None:
            return False
        return await self._secret.renewed(refused[self._header].removeprefix(self._scheme))


def wire_of(settings: OpenAISettings) -> Wire:
    """What an entry says, and what is known of its host."""
    usual = "max_completion_tokens" if settings.is_openai else "max_tokens"
    return Wire(
        base_url=settings.base_url,
        path=lambda _: "/chat/completions",
        headers=settings.headers,
        max_tokens_field=settings.max_tokens_field or usual,
        structured_output=settings.structured_output,
        counts_streams=True,
        lengths=not settings.is_openai,
        max_event_bytes=settings.max_event_bytes,
        keep_alive=settings.keep_alive,
        hint=_no_hint,
    )


def _no_hint(_model: str, _status: int, _code: str | None) -> None:
    """There are too many kinds of such servers to know better than their own words."""
