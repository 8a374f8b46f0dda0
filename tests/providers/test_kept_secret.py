"""A key that was changed where it is kept: the provider refuses the old one, and the new one is read and used."""

import asyncio
import logging
import threading

import pytest

from deltawire.domain.errors import DeclarationError, Reason
from deltawire.domain.ports import Provider
from deltawire.providers.kept_secret import KeptSecret
from deltawire.providers.openai.provider import OpenAI
from deltawire.providers.openai.settings import OpenAISettings
from tests.providers.asking import ask
from tests.upstream import Upstream, answer, error_reply

pytestmark = pytest.mark.anyio


def provider(upstream: Upstream, secret: KeptSecret) -> Provider:
    return OpenAI("up", OpenAISettings(base_url=upstream.base_url), secret)


async def test_a_refused_key_is_read_anew_and_the_attempt_may_be_made_again() -> None:
    async with Upstream() as upstream:
        asked = provider(upstream, KeptSecret("up", "old", lambda: "new"))
        upstream.script(error_reply(401, "expired"))
        upstream.script(answer("a"))
        first, second = await ask(asked), await ask(asked)
        await asked.close()
        keys = [request.headers["authorization"] for request in upstream.requests]
    assert (first.failure.reason, first.failure.retry_safe) == (Reason.upstream_auth, True)
    assert (second.text, keys) == ("a", ["Bearer old", "Bearer new"])


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_is_still_the_same_is_not_sent_again(status: int) -> None:
    async with Upstream() as upstream:
        asked = provider(upstream, KeptSecret("up", "old", lambda: "old"))
        upstream.script(error_reply(status, "no"))
        failure = (await ask(asked)).failure
        await asked.close()
    assert (failure.reason, failure.retry_safe) == (Reason.upstream_auth, False)


async def test_a_store_that_fails_is_for_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def read() -> str:
        raise DeclarationError("the api_key is in the SSM parameter /key, which does not exist")

    secret = KeptSecret("up", "old", read)
    with caplog.at_level(logging.ERROR):
        assert not await secret.renewed("old")
    assert caplog.messages == [
        "the provider 'up' refused its key, and there is no other: "
        "the api_key is in the SSM parameter /key, which does not exist"
    ]


async def test_those_who_are_refused_at_once_share_one_look_and_the_next_wait_for_a_while() -> None:
    looks: list[int] = []
    go = threading.Event()

    def read() -> str:
        looks.append(1)
        assert go.wait(30)
        return "old"

    secret = KeptSecret("up", "old", read)
    asking = [asyncio.ensure_future(secret.renewed("old")) for _ in range(20)]
    await asyncio.sleep(0)
    asking[0].cancel()  # one who leaves does not end it for the others
    await asyncio.sleep(0)
    go.set()
    assert await asyncio.gather(*asking[1:]) == [False] * 19
    assert not await secret.renewed("old")
    assert len(looks) == 1


async def test_a_key_that_others_have_renewed_needs_no_look() -> None:
    secret = KeptSecret("up", "old", lambda: "new")
    assert await secret.renewed("old")
    assert await secret.renewed("old")
    assert secret.value == "new"
