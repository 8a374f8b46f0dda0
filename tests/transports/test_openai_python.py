"""OpenAI's client for Python against the server: answers, streams, errors of each kind, and a caller who leaves."""

from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam
from pydantic import BaseModel

from tests.matrix.provider import Provider
from tests.upstream import (
    Gate,
    Step,
    answer,
    close,
    done,
    error_event,
    error_reply,
    finish,
    head,
    reasoning,
    refusal,
    silence,
    text,
    usage,
)

pytestmark = pytest.mark.anyio

HI: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hi"}]
TALK: list[ChatCompletionMessageParam] = [
    {"role": "system", "content": "Rhyme."},
    {"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "text", "text": "there"}]},
    {"role": "assistant", "content": "Hi."},
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "And now?"},
]
END = (finish("stop"), usage(9, 2), done())


class Review(BaseModel):
    stars: int


async def asked(upstream: Provider) -> dict[str, Any]:
    """What the provider was asked."""
    return (await upstream.requested()).request.json


async def test_the_models_are_the_functions_that_take_messages(client: AsyncOpenAI) -> None:
    models = [model async for model in client.models.list()]
    assert [model.id for model in models] == ["chat", "talk", "summarize", "bare", "review"]
    assert {(model.object, model.owned_by) for model in models} == {("model", "deltawire")}
    assert await client.models.retrieve("talk") == models[1]
    with pytest.raises(openai.NotFoundError) as caught:
        await client.models.retrieve("add")
    assert "no function named 'add' takes messages; known: 'chat', " in caught.value.message


async def test_an_answer_comes_whole(client: AsyncOpenAI, upstream: Provider) -> None:
    upstream.script(answer("Hel", "lo"))
    completion = await client.chat.completions.create(model="chat", messages=HI)
    (choice,) = completion.choices
    assert (choice.index, choice.finish_reason, choice.message.role) == (0, "stop", "assistant")
    assert (choice.message.content, choice.message.refusal) == ("Hello", None)
    assert completion.object == "chat.completion"
    assert completion.model == "chat"
    assert completion.usage is not None
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (9, 2)
    assert completion.usage.total_tokens == 11


@pytest.mark.parametrize(
    ("model", "seen"),
    [
        ("chat", ["Be kind.", "Rhyme.", "Hello\nthere", "Hi.", "Be brief.", "And now?"]),
        ("talk", ["Be plain.", "Rhyme.", "Hello\nthere", "Hi.", "Be brief.", "And now?"]),
        ("summarize", ["Sum up.", "Rhyme.", "Be brief.", "And now?"]),
        ("bare", ["Rhyme.", "Be brief.", "And now?"]),
    ],
)
async def test_a_function_gets_the_messages_in_its_way(
    client: AsyncOpenAI, upstream: Provider, model: str, seen: list[str]
) -> None:
    upstream.script(answer("Hello"))
    await client.chat.completions.create(model=model, messages=TALK)
    messages = (await asked(upstream))["messages"]
    assert [message["content"] for message in messages] == seen
    assert {message["role"] for message in messages if message["content"] in ("Rhyme.", "Be brief.")} == {"system"}


async def test_the_settings_of_a_caller_reach_the_provider_under_the_functions_caps(
    client: AsyncOpenAI, upstream: Provider
) -> None:
    upstream.always(answer("Hello"))
    await client.chat.completions.create(
        model="summarize", messages=HI, max_completion_tokens=7, temperature=0.5, seed=3, top_p=0.5, store=False
    )
    body = await asked(upstream)
    assert (body["max_tokens"], body["temperature"], body["seed"]) == (7, 0.5, 3)
    assert not body.keys() & {"top_p", "store", "max_completion_tokens"}
    await client.chat.completions.create(model="summarize", messages=HI, max_tokens=5000)
    assert (await asked(upstream))["max_tokens"] == 100


async def test_a_stream_comes_in_chunks(client: AsyncOpenAI, upstream: Provider) -> None:
    gate = Gate()
    upstream.script(head(), reasoning("hm"), text("Hel"), gate.wait(), text("lo"), *END)
    stream = await client.chat.completions.create(model="chat", messages=HI, stream=True)
    contents: list[str | None] = []
    thoughts: list[str] = []
    reasons: list[str | None] = []
    async for chunk in stream:
        (choice,) = chunk.choices
        contents.append(choice.delta.content)
        thoughts += [thought] if (thought := getattr(choice.delta, "reasoning_content", None)) else []
        reasons.append(choice.finish_reason)
        if choice.delta.content == "Hel":
            gate.open()
        assert (chunk.model, chunk.object, chunk.usage) == ("chat", "chat.completion.chunk", None)
    assert [content for content in contents if content] == ["Hel", "lo"]
    assert thoughts == ["hm"]
    assert reasons == [None] * (len(reasons) - 1) + ["stop"]


async def test_the_usage_comes_last_where_it_is_wanted(client: AsyncOpenAI, upstream: Provider) -> None:
    upstream.script(answer("Hello", finish_reason="length"))
    stream = await client.chat.completions.create(
        model="chat", messages=HI, stream=True, stream_options={"include_usage": True}
    )
    *chunks, last = [chunk async for chunk in stream]
    assert [chunk.usage for chunk in chunks] == [None] * len(chunks)
    assert chunks[-1].choices[0].finish_reason == "length"
    assert last.choices == []
    assert last.usage is not None
    assert last.usage.total_tokens == 11


async def test_the_clients_own_collector_of_streams_is_content(client: AsyncOpenAI, upstream: Provider) -> None:
    upstream.script(answer("Hel", "lo"))
    async with client.chat.completions.stream(model="chat", messages=HI) as stream:
        deltas = [event.delta async for event in stream if event.type == "content.delta"]
        assert "".join(deltas) == "Hello"
        assert (await stream.get_final_completion()).choices[0].message.content == "Hello"


async def test_a_typed_answer_is_parsed_by_the_client(client: AsyncOpenAI, upstream: Provider) -> None:
    upstream.always(answer('Sure:\n```json\n{"stars": 4,}\n```'))
    parsed = await client.chat.completions.parse(model="review", messages=HI, response_format=Review)
    assert parsed.choices[0].message.parsed == Review(stars=4)
    async with client.chat.completions.stream(model="review", messages=HI, response_format=Review) as stream:
        assert (await stream.get_final_completion()).choices[0].message.content == '{"stars":4}'


async def test_a_refusal_has_a_place_of_its_own(client: AsyncOpenAI, upstream: Provider) -> None:
    upstream.always(head(), refusal("I will "), refusal("not."), finish("stop"), done())
    (choice,) = (await client.chat.completions.create(model="chat", messages=HI)).choices
    assert (choice.message.content, choice.message.refusal, choice.finish_reason) == (None, "I will not.", "stop")
    stream = await client.chat.completions.create(model="chat", messages=HI, stream=True)
    deltas = [chunk.choices[0].delta async for chunk in stream]
    assert "".join(delta.refusal or "" for delta in deltas) == "I will not."
    assert "".join(delta.content or "" for delta in deltas) == ""


ERRORS: list[tuple[dict[str, Any], list[Step], type[openai.APIStatusError], int, str, str | None]] = [
    ({"n": 2}, [], openai.BadRequestError, 400, "invalid_input", "n"),
    ({"model": "add"}, [], openai.BadRequestError, 400, "invalid_input", "model"),
    ({"model": "compare"}, [], openai.BadRequestError, 400, "invalid_input", "model"),
    ({"model": "talk", "messages": HI * 6}, [], openai.BadRequestError, 400, "invalid_input", None),
    ({}, [error_reply(400, "too long")], openai.BadRequestError, 400, "upstream_rejected", None),
    ({"extra_headers": {"origin": "https://evil.example"}}, [], openai.PermissionDeniedError, 403, "", None),
    ({"model": "nobody"}, [], openai.NotFoundError, 404, "unknown_function", "model"),
    ({"user": "x" * 2_000_000}, [], openai.APIStatusError, 413, "request_too_large", None),
    ({}, [error_reply(400, "no", code="content_filter")], openai.UnprocessableEntityError, 422, "content_filter", None),
    ({}, [error_reply(429, "slow down")], openai.RateLimitError, 429, "upstream_rate_limited", None),
    ({}, [error_reply(401, "bad key")], openai.InternalServerError, 502, "upstream_auth", None),
    ({}, [head(), close()], openai.InternalServerError, 502, "upstream_truncated", None),
    ({"extra_body": {"timeout": 0.1}}, [silence()], openai.InternalServerError, 504, "total_timeout", None),
    ({"model": "review"}, [answer("4")], openai.InternalServerError, 502, "output_invalid", None),
]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("call", "steps", "kind", "status", "code", "param"), ERRORS, ids=[f"{error[3]}-{error[4]}" for error in ERRORS]
)
async def test_an_error_before_the_first_content_is_raised_by_its_status(
    client: AsyncOpenAI,
    upstream: Provider,
    call: dict[str, Any],
    steps: list[Step],
    kind: type[openai.APIStatusError],
    status: int,
    code: str,
    param: str | None,
    stream: bool,
) -> None:
    if steps:
        upstream.script(*steps)
    once = client.with_options(max_retries=0)
    arguments: dict[str, Any] = {"model": "chat", "messages": HI, "stream": stream, **call}
    with pytest.raises(kind) as caught:
        await once.chat.completions.create(**arguments)
    assert type(caught.value) is kind
    assert caught.value.status_code == status
    if code:  # of a page that may not call it is not known what it wanted
        assert (caught.value.code, caught.value.param) == (code, param)
        assert caught.value.type
    assert upstream.unasked == 0


async def test_an_error_after_content_is_raised_in_the_stream(client: AsyncOpenAI, upstream: Provider) -> None:
    upstream.script(head(), text("Hel"), error_event("slow down", code="rate_limit_exceeded"))
    stream = await client.chat.completions.create(model="chat", messages=HI, stream=True)
    assert (await anext(stream)).choices[0].delta.role == "assistant"
    assert (await anext(stream)).choices[0].delta.content == "Hel"
    with pytest.raises(openai.APIError) as caught:
        await anext(stream)
    assert (caught.value.code, caught.value.type) == ("upstream_rate_limited", "rate_limit_error")
    assert caught.value.message == "the provider 'openai' failed in the middle of its reply: slow down"


async def test_a_stream_survives_the_hold_and_heartbeats(client: AsyncOpenAI, upstream: Provider) -> None:
    first, second = Gate(), Gate()
    upstream.script(head(), first.wait(), text("Hel"), second.wait(), text("lo"), *END)
    reply = await client.chat.completions.with_raw_response.create(model="chat", messages=HI, stream=True)
    assert reply.status_code == 200  # the headers are out, and with them a heartbeat: there is no content yet
    first.open()
    seen: list[str] = []
    async for chunk in reply.parse():
        seen.append(chunk.choices[0].delta.content or "")
        second.open()
    assert "".join(seen) == "Hello"


async def test_a_failure_after_the_hold_is_raised_in_the_stream(client: AsyncOpenAI, upstream: Provider) -> None:
    gate = Gate()
    upstream.script(head(), gate.wait(), close())
    stream = await client.chat.completions.create(model="chat", messages=HI, stream=True)
    gate.open()
    with pytest.raises(openai.APIError) as caught:
        await anext(stream)
    assert caught.value.code == "upstream_truncated"


async def test_closing_a_stream_closes_the_providers_connection(client: AsyncOpenAI, upstream: Provider) -> None:
    upstream.script(head(), text("Hel"), silence())
    stream = await client.chat.completions.create(model="chat", messages=HI, stream=True)
    async for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    exchange = await upstream.requested()
    await stream.close()
    await exchange.client_left(within=1.0)


async def test_the_client_does_not_try_again_where_that_is_of_no_use(client: AsyncOpenAI, upstream: Provider) -> None:
    upstream.script(error_reply(401, "bad key"))
    with pytest.raises(openai.InternalServerError):
        await client.with_options(max_retries=2).chat.completions.create(model="chat", messages=HI)
    assert len(upstream.exchanges) == 1


async def test_the_client_tries_again_where_that_may_help(client: AsyncOpenAI, upstream: Provider) -> None:
    upstream.script(error_reply(503, "busy"))
    upstream.script(answer("Hello"))
    again = await client.with_options(max_retries=1).chat.completions.create(model="chat", messages=HI)
    assert again.choices[0].message.content == "Hello"
