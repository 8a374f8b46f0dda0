"""Who we are for Azure: a key, a token that somebody keeps fresh, or what azure-identity finds on this machine."""

import logging
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Protocol, cast

from deltawire.domain.errors import DeclarationError, Reason, RunError
from deltawire.providers.kept_secret import KeptSecret
from deltawire.providers.openai import provider as openai

logger = logging.getLogger("deltawire.providers")


class Key(openai.Key):
    """The resource's key."""

    setting = "api_key"

    def __init__(self, key: KeptSecret | None) -> None:
        super().__init__(key, "api-key")

    async def close(self) -> None:
        pass


class Token:
    """A token that is read for each attempt: whoever wrote it changes it before it expires. ``read`` raises
    ``DeclarationError`` where there is none. One in a store costs a call: it is ``kept`` until it is refused."""

    setting = "token"

    def __init__(self, provider: str, read: Callable[[], str], kept: KeptSecret) -> None:
        self._provider = provider
        self._read = read
        self._kept = kept

    async def headers(self) -> Mapping[str, str]:
        try:
            self._kept.value = self._read()
        except DeclarationError as error:  # where it should be is for our log, not for a caller
            raise _nobody(self._provider, error) from error
        return _bearer(self._kept.value)

    async def renewed(self, refused: Mapping[str, str]) -> bool:
        return await self._kept.renewed(refused["authorization"].removeprefix("Bearer "))

    async def close(self) -> None:
        pass


class _AccessToken(Protocol):
    token: str


class _TokenCredential(Protocol):
    """The part of ``azure.core.credentials_async.AsyncTokenCredential`` that is used."""

    async def get_token(self, scope: str, /) -> _AccessToken: ...

    async def close(self) -> None: ...


class DefaultCredential:
    """``DefaultAzureCredential``, which keeps its token until shortly before it expires. Raises ``DeclarationError``
    where azure-identity is not installed."""

    setting = "credential"

    def __init__(self, provider: str, scope: str) -> None:
        self._provider = provider
        self._scope = scope
        try:
            identity: Any = import_module("azure.identity.aio")
            self._failures = cast("type[Exception]", import_module("azure.core.exceptions").AzureError)
        except ImportError:
            raise DeclarationError(
                f"the credential of provider '{provider}' is default, which needs azure-identity: "
                "pip install 'deltawire[azure]'"
            ) from None
        self._credential = cast("_TokenCredential", identity.DefaultAzureCredential())

    async def headers(self) -> Mapping[str, str]:
        try:
            return _bearer((await self._credential.get_token(self._scope)).token)
        except self._failures as error:
            raise _nobody(self._provider, error) from error

    async def renewed(self, refused: Mapping[str, str]) -> bool:  # noqa: ARG002  (the library renews its own)
        return False

    async def close(self) -> None:
        await self._credential.close()


def _bearer(token: str) -> Mapping[str, str]:
    return {"authorization": f"Bearer {token}"}


def _nobody(provider: str, error: Exception) -> RunError:
    logger.error("the provider '%s' cannot be asked: %s", provider, " ".join(str(error).split()))
    return RunError(Reason.upstream_auth, f"there is no valid token for the provider '{provider}'; our log says why")
