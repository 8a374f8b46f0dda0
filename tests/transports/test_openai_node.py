"""OpenAI's client for Node against the server: answers, streams, errors of each kind, and a caller who leaves."""

import json
from typing import Any

import pytest

from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.node import FOLDER, Node
from tests.upstream import (
    Step,
    answer,
    close,
    delay,
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

HI = {"model": "chat", "messages": [{"role": "user", "content": "hi"}]}
STREAM = {**HI, "stream": True}
END = (finish("stop"), usage(9, 2), done())
Called = dict[str, Any]


async def called(node: Node, server: Server, *calls: Called) -> list[Called]:
    """What the client made of each call."""
    printed = await node.run(FOLDER / "openai_client.mjs", f"{server.url}/v1", json.dumps(calls))
    return [json.loads(line) for line in printed.splitlines()]


def said(content: str | None, refusal: str | None = "", reasoning: str = "", **more: object) -> Called:
    return {"content": content, "refusal": refusal, "reasoning": reasoning, **more}


async def test_answers_and_streams_come(node_modules: Node, chat_server: Server, upstream: Provider) -> None:
    refused = (head(), refusal("I will not."), finish("stop"), done())
    upstream.script(answer("Hel", "lo"))
    upstream.script(head(), reasoning("hm"), text("Hel"), text("lo"), *END)
    upstream.script(answer("Hello", finish_reason="length"))
    upstream.script(*refused)
    upstream.script(*refused)
    upstream.script(answer('{"stars": 4}'))
    with_usage = {**STREAM, "stream_options": {"include_usage": True}}
    calls = [{}, HI, STREAM, with_usage, HI, STREAM, {**STREAM, "model": "review"}]
    assert await called(node_modules, chat_server, *calls) == [
        said("", models=["chat", "talk", "summarize", "bare", "review"]),
        said("Hello", None, finish="stop", tokens=11),
        said("Hello", reasoning="hm", finish="stop"),
        said("Hello", finish="length", tokens=11),
        said(None, "I will not.", finish="stop"),
        said("", "I will not.", finish="stop"),
        said('{"stars":4}', finish="stop"),
    ]


ERRORS: list[tuple[Called, list[Step], str, int, str, str | None]] = [
    ({"n": 2}, [], "BadRequestError", 400, "invalid_input", "n"),
    ({"model": "nobody"}, [], "NotFoundError", 404, "unknown_function", "model"),
    ({}, [error_reply(400, "no", code="content_filter")], "UnprocessableEntityError", 422, "content_filter", None),
    ({}, [error_reply(429, "slow down")], "RateLimitError", 429, "upstream_rate_limited", None),
    ({}, [error_reply(401, "bad key")], "InternalServerError", 502, "upstream_auth", None),
    ({"timeout": 0.1}, [silence()], "InternalServerError", 504, "total_timeout", None),
]


async def test_errors_before_the_first_content_are_thrown_by_their_status(
    node_modules: Node, chat_server: Server, upstream: Provider
) -> None:
    calls: list[Called] = []
    for call, steps, *_ in ERRORS:
        for base in (HI, STREAM):
            calls.append({**base, **call})
            if steps:
                upstream.script(*steps)
    thrown = [came["error"] for came in await called(node_modules, chat_server, *calls)]
    assert [(one["kind"], one["status"], one["code"], one["param"]) for one in thrown] == [
        (kind, status, code, param) for _, _, kind, status, code, param in ERRORS for _ in (HI, STREAM)
    ]


async def test_errors_after_the_first_content_are_thrown_in_the_stream(
    node_modules: Node, chat_server: Server, upstream: Provider
) -> None:
    upstream.script(head(), text("Hel"), error_event("slow down", code="rate_limit_exceeded"))
    upstream.script(head(), text("Hel"), close())
    limited, cut = await called(node_modules, chat_server, STREAM, STREAM)
    error = {"kind": "APIError", "code": "upstream_rate_limited", "type": "rate_limit_error", "param": None}
    assert limited == said("Hel", error=error)
    assert cut == said("Hel", error={**error, "code": "upstream_truncated", "type": "server_error"})


async def test_a_stream_survives_the_hold_and_heartbeats_and_closing_it_closes_the_providers_connection(
    node_modules: Node, chat_server: Server, upstream: Provider
) -> None:
    # The hold is over after 0.3 s, and a heartbeat comes each 0.1 s from then on.
    upstream.script(head(), delay(0.7), text("Hel"), silence())
    assert await called(node_modules, chat_server, {**STREAM, "stop": True}) == [said("Hel")]
    await (await upstream.requested()).client_left(within=1.0)
