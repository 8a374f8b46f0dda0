"""The streaming-chat article's HTTP endpoints on the shipped server, read by readers that know nothing of it."""

import asyncio
import re
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from httpx_sse import aconnect_sse
from hypothesis import example, given
from hypothesis import strategies as st

import deltawire
from deltawire.domain.errors import DeclarationError
from deltawire.domain.events import Reasoning, Refusal, Text
from deltawire.transports.http.article_events import Encoder
from tests.matrix.provider import Provider
from tests.matrix.reply import Reply
from tests.matrix.server import Server, serving
from tests.transports.article_app import __file__ as APP
from tests.transports.article_page import Outcome, outcomes
from tests.transports.plain_sse import Event, answer, events
from tests.upstream import Gate, done, finish, head, repeat, role, silence, text
from tests.upstream import answer as says

pytestmark = pytest.mark.anyio

PATHS = [f"/streaming/{name}{slash}" for name in ("fastapi", "starlette") for slash in ("/", "")]
PIECES = [
    "a\n",
    "\n",
    "\nb",
    "data: x",
    "data: \n\nevent: error\ndata: {}\n\n",
    "None",
    ": ",
    " ",
    "\u2028",
    "\0",
    "🙂",
]
SEVERAL = st.lists(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\r\n: "), min_size=1))


@pytest.fixture
async def client(article_server: Server, provider: Provider) -> AsyncGenerator[httpx.AsyncClient]:
    await provider.begin()
    article_server.log.new()
    async with httpx.AsyncClient(base_url=article_server.url, trust_env=False) as client:
        yield client


def without_cr(words: str) -> str:
    return words.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize("outcome", outcomes("http"), ids=lambda outcome: outcome.name)
async def test_each_outcome_is_as_the_page_says(
    client: httpx.AsyncClient, provider: Provider, outcome: Outcome
) -> None:
    for path in PATHS:
        reply = await played(client, provider, path, outcome)
        assert reply.written() == reply.as_expected(outcome.expected["http"], "sse")
    assert provider.unasked == 0


async def played(client: httpx.AsyncClient, provider: Provider, path: str, outcome: Outcome) -> Reply:
    """The script goes on when the reader has what was sent: a pause ends for who sees pieces at once only."""
    script = outcome.script()
    provider.play(script)
    stops = script.stops
    body = b""
    json = {"content-type": "application/json"}
    async with client.stream("POST", path, content=outcome.body.encode(), headers=json) as response:
        async for received in response.aiter_raw():
            body += received
            if stops and _shown(stops[0].words, body):
                stops.pop(0).gate.open()
    lines = [
        f"{name}: {value}\n" for name, value in response.headers.items() if name not in ("date", "transfer-encoding")
    ]
    return Reply(f"HTTP/1.1 {response.status_code} {response.reason_phrase}\n{''.join(lines)}", body, complete=True)


def _shown(words: str, body: bytes) -> bool:
    return (words.splitlines() or [":\n"])[-1].encode() in body


@given(SEVERAL)
@example(PIECES)
@example(["\r", "\n", "\r", "\r\n", "\r", "a"])
@example(["\ufeff", "\ufeff"])
def test_a_reader_of_all_data_has_the_exact_answer_but_for_cr(pieces: list[str]) -> None:
    encoder = Encoder()
    stream = b"".join(encoder.encode(Text(piece)) for piece in pieces)
    assert answer(stream.decode()) == without_cr("".join(pieces))
    assert all(event.type == "message" for event in events(stream.decode()))


def test_what_is_thought_is_left_out_and_what_is_refused_is_not() -> None:
    encoder = Encoder()
    assert (encoder.encode(Reasoning("hm")), encoder.encode(Refusal("no"))) == (b"", b"data: no\n\n")


async def test_the_exact_answer_arrives_on_the_wire(client: httpx.AsyncClient, provider: Provider) -> None:
    provider.always(says(*PIECES))
    response = await client.post(PATHS[0], json={"prompt": "hi"})
    assert answer(response.text) == "".join(PIECES)
    assert list(events(response.text))[-1] == Event("end", "")


async def test_httpx_sse_reads_the_exact_answer_and_its_end(client: httpx.AsyncClient, provider: Provider) -> None:
    provider.always(says(*PIECES))
    for path in PATHS:
        async with aconnect_sse(client, "POST", path, json={"prompt": "hi"}) as source:
            came = [(event.event, event.data) async for event in source.aiter_sse()]
        assert "".join(data for event, data in came if event == "message") == "".join(PIECES)
        assert came[-1] == ("end", "")


async def test_the_prompt_and_the_defaults_reach_the_provider(client: httpx.AsyncClient, provider: Provider) -> None:
    provider.always(says("Hello"))
    for prompt in ('{"message": "x"}', "", "a\r\n\0\u2028🙂"):
        await client.post(PATHS[0], json={"prompt": prompt, "model": "another", "unknown": [1]})
        asked = (await provider.requested()).request.json
        assert asked["messages"] == [{"role": "user", "content": prompt}]
        assert (_max_tokens(asked), asked["seed"], asked["temperature"]) == (100, 42, 1)


async def test_what_is_chosen_goes_before_the_defaults_and_under_the_functions_cap(
    client: httpx.AsyncClient, provider: Provider
) -> None:
    provider.always(says("Hello"))
    for wanted, given_ in ((7, 7), (8.0, 8), (1_000_000, 512)):
        await client.post(PATHS[0], json={"prompt": "hi", "max_tokens": wanted, "seed": -1, "temperature": 0})
        asked = (await provider.requested()).request.json
        assert (_max_tokens(asked), asked["seed"], asked["temperature"]) == (given_, -1, 0)


def _max_tokens(asked: dict[str, object]) -> object:
    return asked.get("max_completion_tokens", asked.get("max_tokens"))


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("{}", "prompt"),
        ('{"prompt":null}', "prompt"),
        ('{"prompt":"hi","max_tokens":0}', "max_tokens"),
        ('{"prompt":"hi","max_tokens":"100"}', "max_tokens"),
        ('{"prompt":"hi","seed":1e300}', "seed"),
        ('{"prompt":"hi","temperature":3}', "temperature"),
        ('{"prompt":"hi","stream":"no"}', "stream"),
        ('["hi"]', "array"),
    ],
)
async def test_a_wrong_value_is_named(client: httpx.AsyncClient, provider: Provider, body: str, where: str) -> None:
    response = await client.post(PATHS[0], content=body)
    assert (response.status_code, response.json()["reason"]) == (400, "invalid_input")
    assert where in response.json()["detail"]
    assert provider.exchanges == []


async def test_foreign_pages_forms_and_other_methods_are_refused_as_everywhere(
    client: httpx.AsyncClient, provider: Provider, article_server: Server
) -> None:
    foreign = await client.post(PATHS[0], json={"prompt": "hi"}, headers={"origin": "https://evil.example"})
    form = await client.post(PATHS[0], content='{"prompt":"hi"}', headers={"content-type": "text/plain"})
    large = await client.post(PATHS[0], json={"prompt": "x" * 1024 * 1024})
    other = await client.get(PATHS[0])
    assert [reply.status_code for reply in (foreign, form, large, other)] == [403, 415, 413, 405]
    assert other.headers["allow"] == "OPTIONS, POST"
    ids = [reply.headers["deltawire-run-id"] for reply in (foreign, form, large, other)]
    assert [line["run_id"] for line in article_server.runs_logged()] == ids
    assert provider.exchanges == []


async def test_a_silent_model_is_heard_by_heartbeats(client: httpx.AsyncClient, provider: Provider) -> None:
    gate = Gate()
    provider.script(head(), role(), gate.wait(), text("Hello"), finish("stop"), done())
    body = ""
    async with client.stream("POST", PATHS[0], json={"prompt": "hi"}) as response:
        async for received in response.aiter_text():
            body += received
            if body.count(":\n") >= 3:
                gate.open()
    assert re.fullmatch(r"(:\n){3,}data: Hello\n\nevent: end\ndata: \n\n", body)


async def test_an_answer_in_one_event_has_heartbeats_too_and_fails_as_a_whole(
    client: httpx.AsyncClient, provider: Provider
) -> None:
    gate = Gate()
    provider.script(head(), text("Hel"), gate.wait())
    body = ""
    async with client.stream("POST", PATHS[0], json={"prompt": "hi", "stream": False}) as response:
        async for received in response.aiter_text():
            body += received
            gate.open()
    assert [event.type for event in events(body)] == ["error"]
    assert "Hel" not in body


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("ask", ["first token", "stream"])
async def test_callers_who_leave_close_the_providers_connection(
    provider: Provider, article_server: Server, ask: str
) -> None:
    provider.always(head(), text("Hel") if ask == "stream" else role(), silence())
    async with _fifty_callers(article_server) as callers:
        exchanges = [await provider.requested() for _ in callers]
        for reader, _ in callers if ask == "stream" else ():
            await reader.readuntil(b"Hel")
        for _, writer in callers:
            writer.transport.abort()
        for exchange in exchanges:
            await exchange.client_left(within=1.0)
    lines = await article_server.logged(len(callers))
    assert [(line["transport"], line["outcome"]) for line in lines] == [("article", "canceled")] * 50


Caller = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def _fifty_callers(server: Server) -> AsyncGenerator[list[Caller]]:
    callers = [await calling(server) for _ in range(50)]
    try:
        yield callers
    finally:
        for _, writer in callers:
            writer.transport.abort()


async def calling(server: Server) -> Caller:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    body = b'{"prompt":"hi"}'
    writer.write(b"POST %s HTTP/1.1\r\nhost: localhost\r\n" % PATHS[0].encode())
    writer.write(b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
    return reader, writer


@pytest.fixture(scope="module")
def brief_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    setting = {"DELTAWIRE_ARTICLE_FUNCTION": "brief"}
    with serving(tmp_path_factory.mktemp("brief"), {**environment, **setting}, Path(APP)) as server:
        yield server


async def test_a_caller_who_reads_nothing_is_cut_when_the_runs_time_is_over(
    provider: Provider, brief_server: Server
) -> None:
    await provider.begin()
    provider.always(head(), repeat(text("x\n" * 30_000)))
    _, writer = await calling(brief_server)
    exchange = await provider.requested()
    await exchange.client_left(within=3)
    assert exchange.sent < 30_000_000
    writer.transport.abort()


@pytest.fixture
def environs(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.chdir(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


async def in_process(app: str, body: dict[str, object]) -> httpx.Response:
    transport = httpx.ASGITransport(deltawire.asgi(app))
    async with httpx.AsyncClient(transport=transport, base_url="http://any", trust_env=False) as client:
        return await client.post(PATHS[0], json=body)


async def test_a_typed_answer_in_one_event_is_the_validated_value(
    provider: Provider, environs: pytest.MonkeyPatch
) -> None:
    await provider.begin()
    environs.setenv("DELTAWIRE_ARTICLE_FUNCTION", "items")
    provider.script(says('{ "items": ["a"] }'))
    provider.script(says("{}"))
    good, bad = [await in_process(APP, {"prompt": "hi", "stream": False}) for _ in range(2)]
    assert answer(good.text) == '{"items":["a"]}'
    assert (bad.status_code, bad.json()["reason"]) == (502, "output_invalid")


@pytest.mark.parametrize("name", ["nobody", "two"])
def test_a_function_that_is_set_and_takes_no_prompt_is_refused_at_start(
    environs: pytest.MonkeyPatch, name: str
) -> None:
    environs.setenv("DELTAWIRE_ARTICLE_FUNCTION", name)
    with pytest.raises(DeclarationError, match=f"'{name}'.*article_function"):
        deltawire.asgi(APP)


@pytest.mark.usefixtures("environs")
@pytest.mark.parametrize("code", ["def other(a: str) -> str: return a", "def chat(a: str, b: str) -> str: return a"])
async def test_a_default_that_takes_no_prompt_is_told_to_those_who_call(tmp_path: Path, code: str) -> None:
    app = tmp_path / "app.py"
    app.write_text(f"from deltawire import function\n\n@function\n{code}\n")
    response = await in_process(str(app), {"prompt": "hi"})
    assert (response.status_code, response.json()["reason"]) == (404, "unknown_function")
    assert "article_function" in response.json()["detail"]
