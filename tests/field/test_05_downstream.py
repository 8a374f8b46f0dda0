"""Failures met on the way from a server to those who read its event streams and replies."""

import json
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
from openai import AsyncOpenAI
from websockets.asyncio.client import connect

from tests.field.proxies import nginx
from tests.matrix.answers import answer, events
from tests.matrix.notation import Call, Script
from tests.matrix.provider import Provider
from tests.matrix.reply import Reply
from tests.matrix.server import Server, serving
from tests.matrix.stage import Matrix, http_caller
from tests.matrix.transports import EVENTFUL, RPC, STREAMS_OVER_HTTP, TRANSPORTS
from tests.test_asgi import in_starlette, served
from tests.transports import plain_sse
from tests.transports.rpc import NO_TLS
from tests.upstream import Gate, Step, comment, delay, done, error_event, error_reply, finish, head, text, usage

pytestmark = pytest.mark.anyio

EVIL = ["line1\n", "\n  two", " three", "\r\n", "", "data: x\n\nevent: evil"]
END = (finish("stop"), usage(9, 2), done())
every_transport = pytest.mark.parametrize("transport", TRANSPORTS)


@every_transport
async def test_ds_01_text_that_looks_like_frames_is_rebuilt_exactly(matrix: Matrix, transport: str) -> None:
    matrix.provider.script(head(), *map(text, EVIL), *END)
    reply = await matrix.caller(transport).call(Call("say"))
    assert answer(transport, reply) == "".join(EVIL)
    if transport in ("sse", "chat_stream"):
        names = [event.type for event in plain_sse.events(reply.body.decode())]
        assert names == ["message"] * len(names) if transport == "chat_stream" else "evil" not in names
    if transport in EVENTFUL:
        assert {event["type"] for event in events(transport, reply)} == {"started", "text", "finished"}


@pytest.fixture(scope="module")
def older_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """Has a function behind the endpoints that take a bare prompt and answer in raw text."""
    with serving(tmp_path_factory.mktemp("older"), {**environment, "DELTAWIRE_ARTICLE_FUNCTION": "say"}) as server:
        yield server


async def test_ds_01_raw_text_in_events_is_rebuilt_exactly_but_for_cr(provider: Provider, older_server: Server) -> None:
    await provider.begin()
    provider.always(head(), *map(text, EVIL), *END)
    async with httpx.AsyncClient(base_url=older_server.url, trust_env=False, verify=NO_TLS) as client:
        reply = (await client.post("/streaming/fastapi/", json={"prompt": "hi"})).text
    async with connect(f"ws://127.0.0.1:{older_server.port}/ws", proxy=None) as socket:
        await socket.send("hi")
        said = ""
        while "event: end" not in said.split("\n"):
            said += str(await socket.recv())
    for stream in (reply, said):
        assert [event.type for event in plain_sse.events(stream)][-1] == "end"
        assert {event.type for event in plain_sse.events(stream)} == {"message", "end"}
        assert plain_sse.answer(stream) == "".join(EVIL).replace("\r\n", "\n")


@pytest.mark.parametrize("transport", STREAMS_OVER_HTTP)
async def test_ds_02_each_piece_is_there_before_the_next_one_is_made(matrix: Matrix, transport: str) -> None:
    """The gate of each piece opens when the caller has the one before it, whatever coding the caller would take."""
    script = Script.read('head; text "one"; pause; text "two"; pause; finish stop; usage 9 2; done')
    matrix.provider.play(script)
    reply = await matrix.caller(transport).call(Call("say", headers={"accept-encoding": "gzip, br"}), script)
    assert answer(transport, reply) == "onetwo"
    fields = reply.head.splitlines()
    assert not [line for line in fields if line.startswith("content-encoding")]
    assert "cache-control: no-cache, no-transform" in fields
    assert "x-accel-buffering: no" in fields


@pytest.mark.parametrize("media", ["text/event-stream", "application/x-ndjson", "text/plain"])
async def test_ds_02_a_compressing_middleware_holds_nothing_back(
    matrix: Matrix, provider: Provider, media: str
) -> None:
    del matrix  # has set the environment
    gate = Gate()
    provider.script(head(), text("one"), gate.wait(), text("two"), *END)
    headers = {"accept": media, "accept-encoding": "gzip"}
    async with (
        served(in_starlette()) as client,
        client.stream("POST", "/llm/v1/functions/say", json={"input": {"message": "hi"}}, headers=headers) as response,
    ):
        came = ""
        async for part in response.aiter_text():
            came += part
            if "one" in came:
                gate.open()
    assert "two" in came


@pytest.mark.parametrize("transport", STREAMS_OVER_HTTP)
async def test_ds_02_nginx_as_it_comes_holds_nothing_back(matrix: Matrix, transport: str, tmp_path: Path) -> None:
    """It speaks HTTP/1.0 to the server, in which plain text could be cut unseen and so comes whole: that needs 1.1."""
    gates = [Gate(), Gate()]
    matrix.provider.script(head(), text("one"), gates[0].wait(), text("two"), gates[1].wait(), *END)
    caller = http_caller(transport, matrix.server)
    call = caller.request(Call("say", headers={"accept-encoding": "gzip"}))
    with nginx(tmp_path, matrix.server.port, "proxy_http_version 1.1;" if transport == "text" else "") as url:
        async with (
            httpx.AsyncClient(trust_env=False, verify=NO_TLS) as client,
            client.stream(call.method, url + call.url.path, content=call.content, headers=call.headers) as response,
        ):
            came = b""
            waiting = {b"one": gates[0], b"two": gates[1]}
            async for part in response.aiter_bytes():
                came += part
                for words in [words for words in waiting if words in caller.shown(came)]:
                    waiting.pop(words).open()
    assert not waiting


BEATING = ["sse", "ndjson", "chat_stream", *(one for one in RPC if one in STREAMS_OVER_HTTP)]


@pytest.mark.parametrize("transport", BEATING)
async def test_ds_03_a_silent_model_is_heard_of_before_and_within_the_answer(
    matrix: Matrix, hurried_server: Server, transport: str
) -> None:
    """A heartbeat comes before the first token and between two; after the end there is none, and none within."""
    script = Script.read('head; hold; text "one"; hold; text "two"; finish stop; usage 9 2; done')
    matrix.provider.play(script)
    reply = await matrix.caller(transport, hurried_server).call(Call("say"), script)
    body = reply.body.replace(b"\n:\n", b"\n").removeprefix(b":\n") if transport == "chat_stream" else reply.body
    assert answer(transport, Reply(reply.head, body, reply.complete, reply.shown)) == "onetwo"
    if transport in ("sse", "chat_stream"):
        assert reply.body.startswith(b":\n")
        assert b"\n\n:\n" in reply.body
        assert not reply.body.rpartition(b"\n\n")[0].endswith(b":")
        assert b"\n:\n\n" not in reply.body  # an empty line after a comment would be an empty event to some
        assert all(event.data for event in plain_sse.events(reply.body.decode()))


async def test_ds_03_openais_own_client_reads_through_the_silence(matrix: Matrix, hurried_server: Server) -> None:
    matrix.provider.script(head(), delay(1.2), text("one"), delay(1.2), text("two"), *END)
    async with AsyncOpenAI(base_url=f"{hurried_server.url}/v1", api_key="any") as client:
        stream = await client.chat.completions.create(
            model="say", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        said = [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
    assert "".join(said) == "onetwo"


async def failure(matrix: Matrix, transport: str, *steps: Step, call: Call | None = None) -> Reply:
    if steps:
        matrix.provider.script(*steps)
    return await matrix.caller(transport).call(call or Call("say"))


LIMITED, INVALID = ("upstream_rate_limited", "resource_exhausted", "429"), ("invalid_input", "invalid_argument", "400")
EARLY: dict[str, tuple[tuple[Step, ...], tuple[str, str, str], Call]] = {
    "429": ((error_reply(429, "slow down", headers={"retry-after": "2"}),), LIMITED, Call("say")),
    "first event": (
        (head(), comment("on"), comment("on"), error_event("slow down", code="rate_limit")),
        LIMITED,
        Call("say"),
    ),
    "our own": ((), INVALID, Call("say", input='{"message":1}', messages='[{"role":"user","content":1}]')),
}
WITHOUT_STATUS = ["ws", "engine", *(one for one in RPC if one != "connect_invoke")]
"""Those whose errors are no status of HTTP."""


@every_transport
@pytest.mark.parametrize("early", EARLY)
async def test_ds_04_a_failure_before_content_is_a_real_status(matrix: Matrix, transport: str, early: str) -> None:
    steps, (reason, code, status), call = EARLY[early]
    reply = await failure(matrix, transport, *steps, call=call)
    (line,) = matrix.logged(transport)
    assert line["outcome"] == reason
    assert len(matrix.provider.exchanges) == len(steps[:1])
    if transport in WITHOUT_STATUS:
        (event,) = events(transport, reply)
        assert (event["type"], event["code"], event["reason"]) == ("error", code, reason)
    else:
        assert reply.head.split()[1] == status
        assert "json" in reply.head
        assert reason in json.dumps(json.loads(reply.body))


@every_transport
async def test_ds_04_a_failure_after_content_is_told_within_the_stream(matrix: Matrix, transport: str) -> None:
    reply = await failure(matrix, transport, head(), text("Hel"), error_event("slow down", code="rate_limit"))
    (line,) = matrix.logged(transport)
    assert line["outcome"] == "upstream_rate_limited"
    assert "finished" not in reply.written()
    assert "[DONE]" not in reply.written()
    if transport in EVENTFUL:
        assert [event["type"] for event in events(transport, reply)] == ["started", "text", "error"]
    if transport == "text":
        assert not reply.complete


@pytest.mark.parametrize("transport", BEATING)
async def test_ds_04_a_failure_after_a_heartbeat_is_told_within_the_stream(
    matrix: Matrix, hurried_server: Server, transport: str
) -> None:
    script = Script.read('head; hold; error rate_limit "slow down"')
    matrix.provider.play(script)
    reply = await matrix.caller(transport, hurried_server).call(Call("say"), script)
    assert reply.complete
    assert " 200 " in reply.head
    assert "finished" not in reply.written()
    assert "slow down" in reply.written()


async def test_ds_04_a_bare_prompts_failure_before_content_is_a_real_status(
    provider: Provider, older_server: Server
) -> None:
    await provider.begin()
    provider.script(error_reply(429, "slow down", headers={"retry-after": "2"}))
    provider.script(head(), comment("on"), error_event("slow down", code="rate_limit"))
    provider.script(head(), text("Hel"), error_event("slow down", code="rate_limit"))
    async with httpx.AsyncClient(base_url=older_server.url, trust_env=False, verify=NO_TLS) as client:
        replies = [await client.post("/streaming/fastapi/", json={"prompt": "hi"}) for _ in range(3)]
        wrong = await client.post("/streaming/fastapi/", json={"prompt": 1})
    assert [reply.status_code for reply in (*replies, wrong)] == [429, 429, 200, 400]
    assert replies[0].headers["retry-after"] == "2"
    assert [event.type for event in plain_sse.events(replies[2].text)] == ["message", "error"]
