"""A server that takes OpenAI's own URLs and key: OpenAI itself, and most others."""

from collections.abc import Mapping

from deltawire.providers.openai.chat_completions import ChatCompletions
from deltawire.providers.openai.settings import OpenAISettings
from deltawire.providers.openai.wire import Wire


class OpenAI(ChatCompletions):
    """One entry of the settings. ``api_key`` is the secret itself, read already."""

    def __init__(self, name: str, settings: OpenAISettings, api_key: str | None) -> None:
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}

        async def credential() -> Mapping[str, str]:
            return headers

        super().__init__(name, wire_of(settings), credential)


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
