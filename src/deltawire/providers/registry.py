"""Which code speaks for a provider. Each is imported when a function first needs it, so that nobody pays for the
others."""

from collections.abc import Callable
from urllib.parse import urlsplit

from deltawire.domain.errors import DeclarationError
from deltawire.domain.ports import Provider
from deltawire.providers.local.settings import LocalSettings
from deltawire.providers.openai.settings import OpenAISettings


def openai(name: str, settings: OpenAISettings, api_key: str | None) -> Provider:
    """A server that speaks OpenAI's wire. Raises ``DeclarationError`` for a base_url that is none, or holds a
    secret."""
    from deltawire.providers.openai.provider import OpenAI

    if wrong := _wrong_with(settings.base_url):
        raise DeclarationError(f"the base_url of provider '{name}' {wrong}")
    return OpenAI(name, settings, api_key)


def local(settings: LocalSettings, model: str, progress: Callable[[str], None]) -> Provider:
    """The model that runs here. Raises ``DeclarationError`` for a model that does not exist."""
    from deltawire.providers.local.provider import MODELS, Local

    if model not in MODELS:
        raise DeclarationError(f"no local model is called '{model}'; known: {', '.join(MODELS)}")
    return Local(settings, model, progress)


def _wrong_with(url: str) -> str | None:
    """Never the URL itself: it may hold a password."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"is no URL: {str(error).lower()}" if "@" not in url else "is no URL"
    if parts.username is not None or parts.password is not None:
        return "holds a user or password: put it into api_key or headers, where no message tells it"
    if parts.scheme not in ("http", "https"):
        return "is no http(s) URL: begin it with https://"
    return None if host else "names no host"
