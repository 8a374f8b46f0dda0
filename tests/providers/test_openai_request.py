"""What a server gets to read: the body of an attempt, and its headers."""

import json

import pytest

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.ports import Attempt, OutputSchema
from deltawire.domain.prompt import Message
from deltawire.providers.openai.provider import wire_of
from deltawire.providers.openai.request import request_body
from deltawire.providers.openai.settings import OpenAISettings
from deltawire.providers.openai.strict_schema import strict
from tests.providers.asking import ITEM, KEY, Signs, ask, attempt, provider_at
from tests.upstream import Upstream, answer, done, finish, head, text

pytestmark = pytest.mark.anyio

LIMITED = Attempt(
    model="m",
    messages=(Message(role="system", content="a"), Message(role="user", content="é🙂\u2028")),
    max_tokens=5,
    temperature=0.0,
    seed=0,
    output=None,
    pulse=Signs(),
)


def body(attempt: Attempt, **settings: object) -> dict[str, object]:
    schema = strict(attempt.output.schema) if attempt.output is not None else None
    return json.loads(request_body(attempt, schema, wire_of(OpenAISettings.model_validate(settings))))


def test_an_attempt_without_settings_sends_none() -> None:
    assert body(attempt(Signs())) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_zero_is_a_setting() -> None:
    sent = body(LIMITED)
    assert (sent["temperature"], sent["seed"], sent["max_completion_tokens"]) == (0.0, 0, 5)
    assert sent["messages"] == [{"role": "system", "content": "a"}, {"role": "user", "content": "é🙂\u2028"}]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({}, "max_completion_tokens"),
        ({"base_url": "https://r.openai.azure.com/openai/v1"}, "max_completion_tokens"),
        ({"base_url": "http://localhost:11434/v1"}, "max_tokens"),
        ({"base_url": "http://x.example/v1", "max_tokens_field": "max_completion_tokens"}, "max_completion_tokens"),
        ({"max_tokens_field": "max_tokens"}, "max_tokens"),
    ],
)
def test_the_cap_has_the_name_that_the_server_knows(settings: dict[str, object], field: str) -> None:
    sent = body(LIMITED, **settings)
    assert {name for name in sent if name.startswith("max_")} == {field}


@pytest.mark.parametrize(("form", "sent"), [("json_object", {"type": "json_object"}), ("none", None)])
def test_a_server_that_knows_no_schema_is_not_sent_one(form: str, sent: object) -> None:
    assert body(attempt(Signs(), output=ITEM), structured_output=form).get("response_format") == sent


def test_a_typed_answer_is_asked_for_by_its_schema() -> None:
    form = body(attempt(Signs(), output=ITEM))["response_format"]
    assert form == {
        "type": "json_schema",
        "json_schema": {
            "name": "Item",
            "strict": True,
            "schema": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
                "additionalProperties": False,
            },
        },
    }


def test_half_a_character_in_a_prompt_is_the_caller_s_mistake() -> None:
    with pytest.raises(RunError, match="half of a surrogate pair") as raised:
        body(attempt(Signs(), content="a\ud83d"))
    assert raised.value.reason is Reason.invalid_input


async def test_the_key_and_the_headers_of_the_settings_are_sent() -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url + "/", headers={"X-Title": "shop"}) as provider:
        upstream.script(answer("a"))
        await ask(provider)
        (request,) = upstream.requests
        assert (request.method, request.path) == ("POST", "/v1/chat/completions")
        sent = {name: request.headers.get(name) for name in ("authorization", "content-type", "x-title", "cookie")}
        assert sent == {
            "authorization": f"Bearer {KEY}",
            "content-type": "application/json",
            "x-title": "shop",
            "cookie": None,
        }
        assert request.headers["accept-encoding"] == "identity"


async def test_cookies_of_a_server_are_not_kept() -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.always(head(headers={"set-cookie": "a=b"}), text("a"), finish(), done())
        await ask(provider)
        await ask(provider)
        assert "cookie" not in upstream.requests[1].headers


async def test_a_schema_is_prepared_once() -> None:
    output = OutputSchema(name="Item", schema=ITEM.schema)
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.always(answer('{"name":"a"}'))
        await ask(provider, output=output)
        await ask(provider, output=output)
        first, second = (request.json["response_format"] for request in upstream.requests)
        assert first == second
