"""A llama.cpp server that we did not start, spoken to by three variables alone."""

import json
import secrets
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest

from deltawire.providers.local import packages
from deltawire.providers.local import server as llama
from tests.matrix.server import Server, serving

SHOP = Path(__file__).parents[2] / "examples" / "shop.py"
CALL = {"input": {"message": "Say hello"}, "settings": {"max_tokens": 12}}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    key = secrets.token_hex()
    weights, installed = packages.weights(), packages.server_folder()
    assert weights is not None
    assert installed is not None
    configuration = llama.Configuration(
        model_path=str(weights), alias="m", slots=1, context=2048, threads=1, api_key=key, import_from=[str(installed)]
    )
    with subprocess.Popen(
        [sys.executable, "-P", llama.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(configuration).encode() + b"\n")
        process.stdin.flush()
        port = json.loads(process.stdout.readline())["port"]
        environment = {
            "OPENAI_API_KEY": key,
            "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "DELTAWIRE_MODEL": "openai:m",
        }
        with serving(tmp_path_factory.mktemp("foreign"), environment, app=SHOP) as server:
            yield server
        process.stdin.close()  # it ends with its stdin


@pytest.mark.parametrize("accept", ["text/event-stream", "application/x-ndjson", "text/plain", "application/json"])
def test_a_real_model_elsewhere_answers_on_every_transport(shop: Server, accept: str) -> None:
    reply = httpx.post(f"{shop.url}/v1/functions/chat", json=CALL, headers={"accept": accept}, timeout=60)
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith(accept)
    assert reply.text
    if accept != "text/plain":
        assert '"output_tokens":' in reply.text
        assert '"attempts":1' in reply.text


def test_a_real_model_elsewhere_answers_within_the_schema(shop: Server) -> None:
    call = {"type": "extract_items", "input": "I bought a red kettle and two lamps"}
    output = httpx.post(f"{shop.url}/invoke", json=call, timeout=60).raise_for_status().json()
    assert list(output) == ["items"]
    assert len(output["items"]) <= 8
