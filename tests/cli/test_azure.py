"""The shipped process on Azure, from article A's four variables and from Azure's own, against an upstream of its
shape.
"""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from tests.cli.apps import shop
from tests.cli.command import Server, deltawire, serving
from tests.upstream import Step, Upstream, done, error_reply, finish, head, usage
from tests.upstream.azure import annotated_text, annotation, filtered_prompt, prompt_results

pytestmark = pytest.mark.anyio

CLASSIC = "/openai/deployments/gpt-35/chat/completions?api-version=2024-10-21"
V1 = "/openai/v1/chat/completions"
HELLO: tuple[Step, ...] = (
    *(head(), prompt_results(), annotated_text("Hel"), annotation(), annotated_text("lo")),
    *(finish(), annotation(), usage(9, 2), done()),
)


def article_a(upstream: Upstream) -> dict[str, str]:
    return {
        "OPENAI_API_BASE": upstream.base_url.removesuffix("v1"),
        "OPENAI_API_KEY": "the-azure-key",
        "OPENAI_API_VERSION": "2024-10-21",
        "OPENAI_CHAT_ENGINE": "gpt-35",
    }


def azures_own(upstream: Upstream) -> dict[str, str]:
    return {
        "AZURE_OPENAI_ENDPOINT": f"{upstream.base_url.removesuffix('/v1')}/openai/v1/",
        "AZURE_OPENAI_API_KEY": "the-azure-key",
        "DELTAWIRE_MODEL": "azure:gpt-35",
    }


async def asked(server: Server, accept: str = "application/json") -> httpx.Response:
    async with httpx.AsyncClient() as client:
        url = f"http://127.0.0.1:{server.port}/v1/functions/chat"
        return await client.post(url, json={"input": {"message": "Hi"}}, headers={"accept": accept})


@pytest.mark.parametrize(("variables", "path"), [(article_a, CLASSIC), (azures_own, V1)], ids=["classic", "v1"])
async def test_the_usual_variables_are_all_that_azure_needs(
    variables: Callable[[Upstream], dict[str, str]], path: str, tmp_path: Path
) -> None:
    async with Upstream() as upstream, serving(str(shop(tmp_path)), env=variables(upstream), cwd=tmp_path) as server:
        upstream.script(*HELLO)
        body = (await asked(server)).json()
        assert (body["output"], body["finish_reason"]) == ("Hello", "stop")
        assert body["usage"] == {"input_tokens": 9, "output_tokens": 2}
        upstream.script(*HELLO)
        stream = (await asked(server, "text/event-stream")).text
        assert '"model":"azure:gpt-35"' in stream
        assert stream.count("event: text\n") >= 1
        assert {request.path for request in upstream.requests} == {path}
        assert {request.headers["api-key"] for request in upstream.requests} == {"the-azure-key"}


async def test_az_03_a_busy_deployment_is_asked_again_when_it_said_so(tmp_path: Path) -> None:
    async with Upstream() as upstream, serving(str(shop(tmp_path)), env=article_a(upstream), cwd=tmp_path) as server:
        busy = error_reply(429, "busy", code="429", headers={"retry-after-ms": "300", "retry-after": "1"})
        upstream.script(busy)
        upstream.script(busy)
        upstream.script(*HELLO)
        assert (await asked(server)).json()["attempts"] == 3
        times = [exchange.arrived_at for exchange in upstream.exchanges]
        assert all(after - before >= 0.3 for before, after in pairwise(times))


async def test_az_03_a_day_of_waiting_is_passed_on_at_once(tmp_path: Path) -> None:
    async with Upstream() as upstream, serving(str(shop(tmp_path)), env=article_a(upstream), cwd=tmp_path) as server:
        upstream.script(error_reply(429, "come back tomorrow", headers={"retry-after": "86400"}))
        reply = await asked(server)
        assert (reply.status_code, reply.headers["retry-after"]) == (429, "86400")
        assert reply.json()["reason"] == "upstream_rate_limited"


async def test_az_04_a_filtered_prompt_is_its_own_failure(tmp_path: Path) -> None:
    async with Upstream() as upstream, serving(str(shop(tmp_path)), env=article_a(upstream), cwd=tmp_path) as server:
        upstream.script(filtered_prompt("violence"))
        reply = await asked(server)
        assert (reply.status_code, reply.json()["reason"]) == (422, "content_filter")
        assert "violence" in reply.json()["detail"]
        assert len(upstream.requests) == 1


async def test_az_06_a_wrong_endpoint_is_one_line_at_the_start(tmp_path: Path) -> None:
    env = {"OPENAI_CHAT_ENGINE": "d", "OPENAI_API_KEY": "k", "OPENAI_API_BASE": "https://r.openai.azure.com/v1"}
    ended = await deltawire("serve", str(shop(tmp_path)), "--port", "1", env=env, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, b"")
    assert ended.complaint == (
        "deltawire: the endpoint of provider 'azure' is 'https://r.openai.azure.com/v1': "
        "'/v1' is no path of Azure OpenAI; leave it out, or write /openai/v1"
    )
