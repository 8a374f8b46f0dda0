"""Clients that others' generators write from the document, called against the shipped server."""

import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import httpx
import pytest

from tests.generators import Generators
from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving
from tests.node import Node
from tests.openapi.test_fuzz import APP, answer

pytestmark = pytest.mark.anyio

CLIENTS = Path(__file__).parent / "clients"
ITEM = "A red kettle and two lamps"
"""The example that the document has for a text: what the scripted model says."""
TSC = ("--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "--noEmit")


@pytest.fixture
async def shop(provider: Provider, environment: dict[str, str], tmp_path: Path) -> AsyncGenerator[Server]:
    await provider.begin()
    provider.answer_with(answer)
    with serving(tmp_path, environment, app=APP) as server:
        yield server


@pytest.fixture
async def document(shop: Server, tmp_path: Path) -> Path:
    async with httpx.AsyncClient() as client:
        reply = await client.get(f"{shop.url}/openapi.json")
    file = tmp_path / "openapi.json"
    file.write_bytes(reply.content)
    return file


async def test_a_typescript_client_compiles_and_calls(
    shop: Server, document: Path, node_modules: Node, tmp_path: Path
) -> None:
    node_modules.link(tmp_path)
    generator = node_modules.package("openapi-typescript/bin/cli.js")
    await node_modules.run(generator, str(document), "-o", "api.d.ts", folder=tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    script = tmp_path / "call.ts"
    script.write_text((CLIENTS / "call.ts").read_text())
    await node_modules.run(node_modules.package("typescript/lib/tsc.js"), *TSC, str(script), folder=tmp_path)
    assert json.loads(await node_modules.run(script, shop.url, folder=tmp_path)) == {
        "items": [ITEM],
        "said": "Hello",
        "reason": "total_timeout",
        "invoked": "train",
        "run_id": True,
        "streamed": ["event: started", "event: text", "event: finished"],
        "wrong": "a",
    }


async def test_a_python_client_calls(shop: Server, document: Path, generators: Generators, tmp_path: Path) -> None:
    said = await generators.run(
        "openapi-python-client", "generate", "--path", document, "--output-path", "client", folder=tmp_path
    )
    assert "WARNING" not in said.upper(), said
    assert "Unable" not in said, said
    script = tmp_path / "client" / "call.py"
    script.write_text((CLIENTS / "call.py.txt").read_text())
    assert json.loads(await generators.run("python", script, shop.url, folder=tmp_path / "client")) == {
        "items": [ITEM],
        "said": "Hello",
        "reason": "total_timeout",
        "invoked": "top",
        "run_id": True,
    }


async def test_a_php_client_calls(
    shop: Server, document: Path, generators: Generators, program: Callable[[str], str], tmp_path: Path
) -> None:
    php = program("php")
    parts = "apis,models,supportingFiles,modelTests=false,apiTests=false,modelDocs=false,apiDocs=false"
    await generators.run(
        *("openapi-generator-cli", "generate", "-g", "php", "-i", document, "-o", "client"),
        *("--additional-properties", "invokerPackage=Deltawire", "--global-property", parts),
        folder=tmp_path,
    )
    said = await generators.run(php, CLIENTS / "call.php", tmp_path / "client", shop.url, folder=tmp_path)
    assert json.loads(said) == {
        "items": [ITEM],
        "said": "Hello",
        "status": 200,
        "reason": "total_timeout",
        "run_id": True,
    }
