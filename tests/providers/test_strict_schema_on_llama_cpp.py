"""A real llama.cpp server takes every schema that we send."""

from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from deltawire.domain.output import Output
from deltawire.providers.local.process import Endpoint, LocalModel
from deltawire.providers.local.settings import LocalSettings
from deltawire.providers.openai.strict_schema import StrictSchema, strict
from tests.providers.output_types import Anything, Cat, Colour, Dog, Everything, Node, Open, Pair, Place, Scores

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _silent(_message: str) -> None: ...


async def _status(client: httpx.AsyncClient, endpoint: Endpoint, schema: StrictSchema) -> int:
    """The status with which the server takes the schema."""
    described = {"name": "answer", "strict": schema.strict, "schema": schema.schema}
    body = {
        "messages": [{"role": "user", "content": "Hello"}],
        "max_tokens": 1,
        "response_format": {"type": "json_schema", "json_schema": described},
    }
    key = {"authorization": f"Bearer {endpoint.api_key}"}
    return (await client.post(f"{endpoint.base_url}/chat/completions", json=body, headers=key, timeout=60)).status_code


def _object(part: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": {"a": part}, "required": ["a"]}


def _schemas() -> list[dict[str, Any]]:
    kinds: list[Any] = [Everything, Node, Place, Cat, Dog, Scores, Pair, Anything, Open, dict[str, int]]
    wrapped = [Output.of(kind, "here").schema for kind in (list[Place], Colour, Cat | Dog)]
    patterns = ["^é+$", "^(?!a).*$", r"^\p{L}+$", "a+", r"^\d{3}$", "^a{2000}$", '^[^"]+$']
    return [
        *(TypeAdapter(kind).json_schema() for kind in kinds),
        *(dict(output.schema) for output in wrapped if output is not None),
        *(_object({"type": "string", "pattern": pattern}) for pattern in patterns),
        _object({"anyOf": [{"$ref": "#"}, {"type": "null"}]}),
        _object({"type": "array", "items": {"type": "string", "minLength": 3000}, "maxItems": 1999}),
    ]


async def test_the_server_accepts_every_schema_and_would_refuse_some_as_they_were() -> None:
    model = LocalModel(LocalSettings(slots=1, context=2048), _silent)
    try:
        endpoint = await model.ready()
        async with httpx.AsyncClient() as client:
            refused = StrictSchema(_schemas()[-1], True)
            assert await _status(client, endpoint, refused) == 400  # so that a 200 means something
            for schema in _schemas():
                assert (await _status(client, endpoint, strict(schema)), schema) == (200, schema)
    finally:
        await model.close()
