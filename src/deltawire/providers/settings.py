"""What an entry of ``[providers]`` may be: its ``kind`` tells which provider's settings it holds."""

from collections.abc import Mapping
from typing import Annotated, cast

from pydantic import Discriminator, Tag

from deltawire.providers.azure.settings import AzureSettings
from deltawire.providers.openai.settings import OpenAISettings


def _kind(entry: object) -> object:
    """The kind that an entry says, or the commonest one."""
    if isinstance(entry, Mapping):
        return cast("Mapping[str, object]", entry).get("kind", "openai")
    return getattr(entry, "kind", "openai")


ProviderSettings = OpenAISettings | AzureSettings
Entry = Annotated[
    Annotated[OpenAISettings, Tag("openai")] | Annotated[AzureSettings, Tag("azure")], Discriminator(_kind)
]
"""The same, as pydantic reads it: only the settings of the entry's own kind are tried, and named in errors."""

KINDS: dict[str, type[OpenAISettings | AzureSettings]] = {"openai": OpenAISettings, "azure": AzureSettings}
