"""An entry of ``[providers.NAME]`` with ``kind = "azure"``."""

from typing import Literal, Self

from pydantic import model_validator

from deltawire.providers.openai.settings import ChatSettings, StructuredOutput


class AzureSettings(ChatSettings):
    """Where an Azure OpenAI resource is, and who we are there. A model of this provider is a deployment's name."""

    kind: Literal["azure"] = "azure"
    endpoint: str | None = None
    """The resource's URL, in any form in which it is pasted (``endpoint.py``)."""
    api_version: str | None = None
    """A date as ``2024-10-21`` means the classic URLs. Left out, or ``preview``, the v1 API."""
    token: str | None = None
    """Instead of a key: an Entra access token, as ``env:NAME`` or ``file:PATH``, read anew for each attempt, or in a
    store."""
    credential: Literal["default"] | None = None
    """Instead of a key: whatever azure-identity finds here (a managed or workload identity, a login, variables)."""
    scope: str = "https://cognitiveservices.azure.com/.default"
    """What ``credential`` asks a token for. Sovereign clouds have another."""
    structured_output: StructuredOutput | None = None
    """How a typed answer is asked for. Unset: by the API version."""

    @model_validator(mode="after")
    def one_credential(self) -> Self:
        said = [name for name in ("api_key", "token", "credential") if getattr(self, name) is not None]
        if len(said) > 1:
            raise ValueError(f"{' and '.join(said)} exclude each other: leave one of them")
        return self
