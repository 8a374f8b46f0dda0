"""An Azure OpenAI resource: its deployments are the models.

Which fields a request may have depends on the API version: Azure refuses whatever a version does not know.
"""

from typing import Protocol

from typing_extensions import override

from deltawire.providers.azure.endpoint import Endpoint
from deltawire.providers.azure.settings import AzureSettings
from deltawire.providers.openai.chat_completions import ChatCompletions
from deltawire.providers.openai.settings import StructuredOutput
from deltawire.providers.openai.wire import Credential, Wire

_COMPLETION_TOKENS = "2024-09-01"
"""The versions that know ``max_completion_tokens``, without which newer models refuse a limit, and stream_options."""
_JSON_SCHEMA = "2024-08-01"
_JSON_OBJECT = "2023-12-01"


class Identity(Credential, Protocol):
    """Who we are for Azure."""

    setting: str
    """The setting that says so, for messages."""

    async def close(self) -> None: ...


class Azure(ChatCompletions):
    """One entry of the settings."""

    def __init__(self, name: str, settings: AzureSettings, endpoint: Endpoint, identity: Identity) -> None:
        super().__init__(name, _wire(name, settings, endpoint, identity.setting), identity)
        self._identity = identity

    @override
    async def close(self) -> None:
        await super().close()
        await self._identity.close()


def _wire(name: str, settings: AzureSettings, endpoint: Endpoint, credential: str) -> Wire:
    newer = endpoint.knows(_COMPLETION_TOKENS)

    def hint(model: str, status: int, code: str | None) -> str | None:
        if status in (401, 403):
            return f"check the {credential} of '{name}', its role, and that its endpoint is the right resource"
        if status != 404:
            return None
        if (code or "").lower() != "deploymentnotfound":
            return f"check the endpoint and the api_version of '{name}'"
        pasted = f"; its endpoint was written with '{endpoint.deployment}'" if endpoint.deployment else ""
        return f"'{name}:' is followed by the name of a deployment, and it has none called '{model}'{pasted}"

    return Wire(
        base_url=endpoint.base_url,
        path=endpoint.path,
        headers=settings.headers,
        max_tokens_field=settings.max_tokens_field or ("max_completion_tokens" if newer else "max_tokens"),
        structured_output=settings.structured_output or _structured_output(endpoint),
        counts_streams=newer,
        lengths=False,
        max_event_bytes=settings.max_event_bytes,
        keep_alive=settings.keep_alive,
        hint=hint,
    )


def _structured_output(endpoint: Endpoint) -> StructuredOutput:
    if endpoint.knows(_JSON_SCHEMA):
        return "json_schema"
    return "json_object" if endpoint.knows(_JSON_OBJECT) else "none"
