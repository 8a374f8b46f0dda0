"""What stands on the core alone, as a Lambda does, loads no web and no RPC framework, and no vendor's client."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.cli.apps import shop
from tests.cli.command import deltawire, environment
from tests.upstream import Upstream, answer, error_reply
from tests.upstream.script import reply

pytestmark = pytest.mark.anyio

HEAVY = {
    *("fastapi", "starlette", "uvicorn", "uvloop", "websockets", "grpc", "google", "connectrpc"),
    *("aiohttp", "httpx", "requests", "urllib3", "openai", "boto3", "botocore", "azure"),
    *("typer", "rich", "watchfiles"),
}
PROGRAM = """
import sys
from deltawire.bootstrap.core import build_core
from deltawire.domain.function import function
from deltawire.settings import Settings

@function(model="MODEL")
def chat(message: str) -> str:
    return message

build_core({"chat": chat}, Settings.load(), [])
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def parameter(value: str) -> bytes:
    return b'{"Parameter":{"Value":"%b"}}' % value.encode()


def aws(upstream: Upstream) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": "AKIA",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "eu-west-1",
        "AWS_ENDPOINT_URL": upstream.base_url.removesuffix("/v1"),
        "DELTAWIRE_PROVIDERS__OPENAI__API_KEY": "ssm:/prod/key",
        "DELTAWIRE_PROVIDERS__AZURE__API_KEY": "ssm:/prod/key",
        "AZURE_OPENAI_ENDPOINT": "https://house.openai.azure.com",
    }


@pytest.mark.parametrize("model", ["openai:m", "azure:m"])
async def test_an_engine_with_a_key_in_ssm_loads_nothing_heavy(model: str, tmp_path: Path) -> None:
    async with Upstream() as store, asyncio.timeout(60):
        store.script(reply(200, parameter("sk-1")))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            PROGRAM.replace("MODEL", model),
            env=environment(aws(store)),
            cwd=tmp_path,
            stdout=PIPE,
        )
        out, _ = await process.communicate()
        assert len(store.requests) == 1
    loaded = set(out.decode().split())
    assert {"deltawire", "msgspec", "pydantic"} <= loaded
    assert not loaded & HEAVY


async def test_a_key_that_was_changed_in_ssm_is_fetched_anew_and_the_run_goes_on(tmp_path: Path) -> None:
    async with Upstream() as upstream, Upstream() as store:
        store.script(reply(200, parameter("sk-old")))
        store.script(reply(200, parameter("sk-new")))
        upstream.script(error_reply(401, "no such key"))
        upstream.script(answer("Hi."))
        env = {**aws(store), "DELTAWIRE_MODEL": "openai:m", "OPENAI_BASE_URL": upstream.base_url}
        ended = await deltawire("run", "chat", "Hello", "--app", str(shop(tmp_path)), env=env, cwd=tmp_path)
        keys = [request.headers["authorization"] for request in upstream.requests]
    assert (ended.code, ended.out, keys) == (0, b"Hi.", ["Bearer sk-old", "Bearer sk-new"])


async def test_a_key_that_ssm_does_not_have_is_one_line_at_the_start(tmp_path: Path) -> None:
    async with Upstream() as store:
        store.script(reply(400, b'{"__type":"ParameterNotFound"}'))
        env = {**aws(store), "DELTAWIRE_MODEL": "openai:m"}
        ended = await deltawire("run", "chat", "Hello", "--app", str(shop(tmp_path)), env=env, cwd=tmp_path)
    assert ended.code == 2
    assert ended.complaint.endswith(
        "the api_key of provider 'openai', which function 'chat' uses, is in the SSM parameter /prod/key, "
        "which does not exist in eu-west-1: check its name, and AWS_REGION"
    )
