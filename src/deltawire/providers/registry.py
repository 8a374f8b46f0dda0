"""Which code speaks for a provider. Each is imported when a function first needs it, so that nobody pays for the
others."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from deltawire.domain.errors import DeclarationError
from deltawire.domain.ports import Provider
from deltawire.providers.azure.settings import AzureSettings
from deltawire.providers.kept_secret import KeptSecret
from deltawire.providers.local.settings import LocalSettings
from deltawire.providers.openai.settings import OpenAISettings
from deltawire.providers.settings import ProviderSettings

if TYPE_CHECKING:
    from deltawire.providers.local.provider import Model


class Read(Protocol):
    def __call__(self, written: str, setting: str, /, *, anew: bool = False) -> str:
        """The secret that is ``written`` in a setting, whose name is for messages. What is kept far away is fetched
        once, and again where it is wanted ``anew``. Raises ``DeclarationError``."""
        ...


def configured(name: str, settings: ProviderSettings, read: Read) -> Provider:
    """An entry of the settings. Raises ``DeclarationError`` for one that cannot work."""
    match settings:
        case OpenAISettings():
            return openai(name, settings, read)
        case AzureSettings():
            return azure(name, settings, read)


def openai(name: str, settings: OpenAISettings, read: Read) -> Provider:
    """A server that speaks OpenAI's wire."""
    from deltawire.providers.openai.provider import OpenAI

    if wrong := _wrong_with(settings.base_url):
        raise DeclarationError(f"the base_url of provider '{name}' {wrong}")
    return OpenAI(name, settings, _kept(name, settings.api_key, "api_key", read))


def azure(name: str, settings: AzureSettings, read: Read) -> Provider:
    """A resource of Azure OpenAI."""
    from deltawire.providers.azure.endpoint import endpoint
    from deltawire.providers.azure.identity import DefaultCredential, Key, Token
    from deltawire.providers.azure.provider import Azure

    place = endpoint(name, settings.endpoint, settings.api_version)
    if (token := _kept(name, settings.token, "token", read)) is not None:
        identity = Token(name, partial(read, settings.token or "", "token"), token)
    elif settings.credential is not None:
        identity = DefaultCredential(name, settings.scope)
    else:
        identity = Key(_kept(name, settings.api_key, "api_key", read))
    return Azure(name, settings, place, identity)


def _kept(provider: str, written: str | None, setting: str, read: Read) -> KeptSecret | None:
    """Read now: one that is not there at the start will hardly come."""
    if not written:
        return None
    return KeptSecret(provider, read(written, setting), partial(read, written, setting, anew=True))


Shared = Callable[[str], "Model"]
"""The process of the local model of that name, where somebody else has it."""


def local(
    settings: LocalSettings, model: str, progress: Callable[[str], None], shared: Shared | None = None
) -> Provider:
    """The model that runs here, in a process of its own unless it is ``shared``. Raises ``DeclarationError`` for a
    model that does not exist."""
    from deltawire.providers.local.process import LocalModel
    from deltawire.providers.local.provider import MODELS, Local

    if model not in MODELS:
        raise DeclarationError(f"no local model is called '{model}'; known: {', '.join(MODELS)}")
    return Local(LocalModel(settings, progress, model) if shared is None else shared(model))


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
    if parts.query or parts.fragment:
        return 'holds a query or fragment, behind which no path can be put: use kind = "azure" for Azure\'s api-version'
    return None if host else "names no host"
