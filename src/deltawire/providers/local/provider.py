"""The local model as a provider: its own process, spoken to as any OpenAI-compatible server."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Piece
from deltawire.domain.ports import Attempt, Completion
from deltawire.providers.kept_secret import KeptSecret
from deltawire.providers.local.process import Endpoint
from deltawire.providers.openai.provider import OpenAI
from deltawire.providers.openai.settings import OpenAISettings

MODELS = ("smollm2",)


class Model(Protocol):
    """The model's process, be it one's own (``process.LocalModel``) or one that several processes share."""

    async def ready(self) -> Endpoint:
        """Where it listens, which may mean to wait until it has started. Raises ``RunError``."""
        ...

    async def close(self) -> None: ...


class Local:
    """Implements ``domain.ports.Provider``. Needs the model with the first attempt, and again after it died."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._client: OpenAI | None = None
        self._endpoint: Endpoint | None = None

    async def stream(self, attempt: Attempt) -> AsyncGenerator[Piece | Completion, None]:
        client = await self._connected(await self._model.ready())
        try:
            async with aclosing(client.stream(attempt)) as pieces:
                async for piece in pieces:
                    yield piece
        except RunError as error:
            if error.reason is Reason.outcome_unknown:  # it died over the request, and nobody bills for that
                raise RunError(error.reason, error.message, retry_safe=True) from error
            raise

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
        await self._model.close()

    async def _connected(self, endpoint: Endpoint) -> OpenAI:
        """The client of this process of the model. One that died took its connections with it."""
        if self._client is None or endpoint != self._endpoint:
            stale, self._endpoint = self._client, endpoint
            settings = OpenAISettings(base_url=endpoint.base_url, keep_alive=0)
            self._client = OpenAI("local", settings, KeptSecret("local", endpoint.api_key, lambda: endpoint.api_key))
            if stale is not None:
                await stale.close()
            return self._client
        return self._client
