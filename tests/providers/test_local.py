"""The local model as a provider: its death is a failure that costs nothing."""

import os
import signal
from dataclasses import dataclass

import pytest
from typing_extensions import override

from deltawire.domain.errors import Reason
from deltawire.providers.local.process import LocalModel
from deltawire.providers.local.provider import Local
from deltawire.providers.local.settings import LocalSettings
from tests.providers.asking import Signs, ask

pytestmark = pytest.mark.anyio


@dataclass
class Killing(Signs):
    """Kills the model as soon as there is a connection to it."""

    model: LocalModel | None = None

    @override
    def connected(self) -> None:
        super().connected()
        assert self.model is not None
        if self.model.pid is not None:
            os.kill(self.model.pid, signal.SIGKILL)


async def test_a_model_that_dies_over_a_request_may_be_asked_again() -> None:
    model = LocalModel(LocalSettings(), lambda _: None)
    provider = Local(model)
    try:
        failure = (await ask(provider, signs=Killing(model=model))).failure
        assert (failure.reason, failure.retry_safe) == (Reason.outcome_unknown, True)
        while (heard := await ask(provider)).error is not None:  # until its death is known, nobody listens
            assert heard.failure.retry_safe
        assert heard.text
    finally:
        await provider.close()
