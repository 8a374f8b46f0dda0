"""The page and all wires behind a real nginx with the recipe of ``deploy/nginx``: nothing waits, and leaving is passed
on."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import connect

from deltawire.v1 import functions_pb2 as pb
from tests.browser.chromium import Chromium
from tests.browser.envoy import envoy
from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.nginx import free_port
from tests.playground.hands import Hands
from tests.playground.nginx import nginx
from tests.transports.rpc import enveloped
from tests.upstream import Gate, close, done, finish, head, silence, text

pytestmark = pytest.mark.anyio

RUN = {"input": {"message": "hi"}}
CALL = pb.RunRequest(function="say", input_json='"hi"')
SERVICE = "deltawire.v1.Functions"
SHOWS = "(text) => document.body.innerText.includes(text)"
Pieces = AsyncIterator[bytes]
Call = Callable[[str], AbstractAsyncContextManager[Pieces]]


@pytest.fixture(scope="module")
def front(playground: Server, tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """nginx before the server, gRPC-Web by the HTTP port."""
    with nginx(tmp_path_factory.mktemp("nginx"), playground.port, playground.port) as url:
        yield url


@pytest.fixture(scope="module")
def front_with_envoy(playground: Server, tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The same, gRPC-Web by an Envoy before the gRPC port."""
    port, folder = free_port(), tmp_path_factory.mktemp("envoy")
    with (
        envoy(folder, playground.grpc_port, f"http://127.0.0.1:{port}") as proxy,
        nginx(folder, playground.port, proxy.port, port) as url,
    ):
        yield url


def posted(path: str, body: bytes, **headers: str) -> Call:
    """A page's POST; what comes of its answer, as it comes."""

    @asynccontextmanager
    async def call(url: str) -> AsyncGenerator[Pieces]:
        given = {"origin": url, **{name.replace("_", "-"): value for name, value in headers.items()}}
        async with (
            httpx.AsyncClient(timeout=20) as client,
            client.stream("POST", f"{url}{path}", content=body, headers=given) as reply,
        ):
            assert (reply.status_code, reply.headers.get("content-encoding")) == (200, None)
            yield reply.aiter_raw()

    return call


def socket(path: str, message: str, subprotocol: str | None) -> Call:
    """A page's WebSocket; its messages."""

    @asynccontextmanager
    async def call(url: str) -> AsyncGenerator[Pieces]:
        address = f"{url.replace('http', 'ws', 1)}{path}"
        subprotocols = [subprotocol] if subprotocol else None
        async with connect(address, origin=url, subprotocols=subprotocols, proxy=None) as connection:  # pyright: ignore[reportArgumentType]  (its types are NewTypes of str)
            await connection.send(message)
            yield (piece.encode() if isinstance(piece, str) else piece async for piece in connection)

    return call


def run(accept: str) -> Call:
    return posted("/api/v1/functions/say", json.dumps(RUN).encode(), content_type="application/json", accept=accept)


def rpc(base: str, content_type: str, body: bytes) -> Call:
    return posted(f"{base}/{SERVICE}/Stream", body, content_type=content_type)


BINARY = enveloped(CALL.SerializeToString())
WIRES = {
    "sse": run("text/event-stream"),
    "ndjson": run("application/x-ndjson"),
    "text": run("text/plain"),
    "connect": rpc("/api", "application/connect+proto", BINARY),
    "grpc-web": rpc("/grpc", "application/grpc-web+proto", BINARY),
    "article": posted("/api/streaming/fastapi/", b'{"prompt":"hi"}', content_type="application/json"),
    "websocket": socket("/api/v1/ws", json.dumps({"type": "run", "id": "1", "function": "say", **RUN}), "deltawire.v1"),
    "article's websocket": socket("/api/ws", "hi", None),
}
BROWSERS = (
    "sse",
    "ndjson",
    "text",
    "websocket",
    "connect",
    "article-fastapi",
    "article-starlette",
    "article-websocket",
)
GRPC_WEB = ("grpc-web-connect", "grpc-web-google")
each_way = pytest.mark.parametrize(
    ("wire", "way"), [*((wire, "front") for wire in WIRES), ("grpc-web", "front_with_envoy")]
)


async def until(pieces: Pieces, wanted: bytes) -> None:
    """Read until that has come."""
    came = b""
    async for piece in pieces:
        came += piece
        if wanted in came:
            return
    raise AssertionError(f"{wanted!r} did not come: {came!r}")


@each_way
async def test_a_piece_passes_before_the_next_is_there(
    wire: str, way: str, upstream: Provider, request: pytest.FixtureRequest
) -> None:
    gate = Gate()
    upstream.script(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), done())
    async with WIRES[wire](request.getfixturevalue(way)) as pieces:
        await until(pieces, b"Hel")
        gate.open()
        await until(pieces, b"lo")


@each_way
async def test_a_caller_who_leaves_stops_the_provider(
    wire: str, way: str, upstream: Provider, request: pytest.FixtureRequest
) -> None:
    upstream.script(head(), text("Hel"), silence())
    async with WIRES[wire](request.getfixturevalue(way)) as pieces:
        await until(pieces, b"Hel")
    await upstream.exchanges[-1].client_left(within=1.0)


async def test_a_cut_answer_is_cut(front: str, upstream: Provider) -> None:
    upstream.script(head(), text("Hel"), close())
    with pytest.raises(httpx.RemoteProtocolError):
        async with WIRES["text"](front) as pieces:
            await until(pieces, b"no such text")


async def test_a_piece_passes_also_where_nothing_tells_nginx_its_length(
    playground: Server, upstream: Provider, tmp_path: Path
) -> None:
    """Chunks pass a buffer too, so that those of the other tests prove nothing against one."""
    gate = Gate()
    upstream.script(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), done())
    unframed = {"proxy_http_version 1.1;": "proxy_http_version 1.0;"}
    with nginx(tmp_path, playground.port, playground.port, changes=unframed) as url:
        async with WIRES["sse"](url) as pieces, asyncio.timeout(20):
            await until(pieces, b"Hel")
            gate.open()
            await until(pieces, b"lo")


async def test_a_call_that_was_sent_is_sent_to_no_second_server(
    playground: Server, upstream: Provider, tmp_path: Path
) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    upstream.always(head(), text("Hello"), finish("stop"), done())
    dying = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port: int = dying.sockets[0].getsockname()[1]
    two = {"upstream deltawire {": f"upstream deltawire {{ server 127.0.0.1:{port};"}
    with nginx(tmp_path, playground.port, playground.port, changes=two) as url:
        async with dying, httpx.AsyncClient() as client:
            seen = [(await client.post(f"{url}/api/v1/functions/say", json=RUN)).status_code for _ in range(2)]
    assert (sorted(seen), len(upstream.exchanges)) == ([200, 502], 1)


async def test_a_model_may_be_silent_for_longer_on_grpc_web(
    playground: Server, upstream: Provider, tmp_path: Path
) -> None:
    gate = Gate()
    upstream.always(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), done())
    impatient = {"proxy_read_timeout 60s;": "proxy_read_timeout 1s;"}
    with nginx(tmp_path, playground.port, playground.port, changes=impatient) as url:
        async with WIRES["grpc-web"](url) as patient:
            await until(patient, b"Hel")
            with pytest.raises(httpx.RemoteProtocolError):  # which tells that the other has been silent for longer
                async with WIRES["ndjson"](url) as pieces:
                    await until(pieces, b"no such text")
            gate.open()
            await until(patient, b"lo")


async def test_a_page_of_another_origin_is_refused(front: str, upstream: Provider) -> None:
    headers = {"origin": "https://evil.example"}
    async with httpx.AsyncClient() as client:
        for path in ("/api/v1/functions/say", f"/grpc/{SERVICE}/Stream"):
            assert (await client.post(f"{front}{path}", json=RUN, headers=headers)).status_code == 403
    assert upstream.exchanges == []


async def test_what_the_page_links_to_is_there(front: str) -> None:
    async with httpx.AsyncClient(follow_redirects=True) as client:
        found = [await client.get(f"{front}/{path}") for path in ("docs", "api/docs/docs.js", "api/openapi.json")]
    assert [reply.status_code for reply in found] == [200, 200, 200]
    assert found[0].url == f"{front}/api/docs"


async def test_the_page_finds_the_api_where_nginx_has_it(front: str, browser: Chromium) -> None:
    async with browser.page(f"{front}/") as page:
        for name in ("chat", "say", "order"):
            await page.until(SHOWS, name)
        asked = await page.call("() => performance.getEntriesByType('resource').map(({ name }) => name)")
        assert {f"{front}/{path}" for path in ("playground.json", "api/playground.json", "api/v1/functions")} <= {
            *asked
        }
        assert page.complaints == []


@pytest.mark.parametrize(
    ("wire", "way"),
    [*((wire, "front") for wire in BROWSERS + GRPC_WEB), *((wire, "front_with_envoy") for wire in GRPC_WEB)],
)
async def test_the_page_shows_a_piece_before_the_next_is_there_and_stops(
    wire: str, way: str, browser: Chromium, upstream: Provider, request: pytest.FixtureRequest
) -> None:
    gate = Gate()
    upstream.script(head(), text("Hel"), gate.wait(), text("lo"), silence())
    url: str = request.getfixturevalue(way)
    async with browser.page(f"{url}/") as page:
        hands = Hands(page, url)
        await hands.open("chat")
        await hands.wire(wire)
        await hands.write("message", "hi")
        await hands.press("Enter")
        await hands.sees(".body", "Hel")
        gate.open()
        await hands.sees(".body", "Hello")
        await hands.press("Escape")
        await upstream.exchanges[-1].client_left(within=1.0)
        await hands.sees(".state", "Stopped")
        assert page.complaints == []
