"""Which code speaks for a provider. Each is imported when a function first needs it, so that nobody pays for the
others."""

from collections.abc import Callable

from deltawire.domain.errors import DeclarationError
from deltawire.domain.ports import Provider
from deltawire.providers.local.settings import LocalSettings
from deltawire.providers.openai.settings import OpenAISettings


def openai(name: str, settings: OpenAISettings, api_key: str | None) -> Provider:
    """A server that speaks OpenAI's wire. Raises ``DeclarationError`` for a base_url that is none."""
    from deltawire.providers.openai.provider import OpenAI

    if not settings.base_url.startswith(("http://", "https://")):
        raise DeclarationError(f"the base_url of provider '{name}' is '{settings.base_url}': begin it with https://")
    return OpenAI(name, settings, api_key)


def local(settings: LocalSettings, model: str, progress: Callable[[str], None]) -> Provider:
    """The model that runs here. Raises ``DeclarationError`` for a model that does not exist."""
    from deltawire.providers.local.provider import MODELS, Local

    if model not in MODELS:
        raise DeclarationError(f"no local model is called '{model}'; known: {', '.join(MODELS)}")
    return Local(settings, model, progress)
