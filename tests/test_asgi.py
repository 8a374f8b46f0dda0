"""``deltawire.asgi(…)`` inside the apps of others, served by uvicorn on a real socket."""

import asyncio
import gc
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
import pytest
import uvicorn
from starlette.types import ASGIApp

import deltawire
from deltawire.asgi_app import App
from tests.matrix.server import APP, clean_environment
from tests.upstream import Gate, Upstream, done, finish, head, silence, text

pytestmark = pytest.mark.anyio

SHOP = Path(__file__).parent.parent / "examples" / "shop.py"
HELLO = (head(), text("Hello"), finish("stop"), done())
SAY = {"input": {"message": "hi"}}


@pytest.fixture
async def upstream(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncGenerator[Upstream]:
    monkeypatch.chdir(tmp_path)  # no deltawire.toml is here
    async with Upstream() as upstream:
        monkeypatch.setenv("DELTAWIRE_MODEL", "openai:m")
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("OPENAI_BASE_URL", upstream.base_url)
        monkeypatch.setenv("DELTAWIRE_PROVIDERS__REFUSED__BASE_URL", "http://127.0.0.1:1/v1")
        monkeypatch.setenv("DELTAWIRE_PROVIDERS__DEAF__BASE_URL", "http://127.0.0.1:1/v1")
        yield upstream


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncGenerator[httpx.AsyncClient]:
    """Its caller. The app has a lifespan, as far as it knows of one."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="auto"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [bound])
            while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(0.01)
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{bound.getsockname()[1]}") as client:
                yield client
            server.should_exit = True


def in_fastapi() -> ASGIApp:
    from fastapi import FastAPI

    outer = FastAPI()
    outer.get("/own")(lambda: {"own": True})
    outer.mount("/llm", deltawire.asgi(str(APP)))
    return outer


def in_starlette() -> ASGIApp:
    """With middleware of all sorts around it."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
    from starlette.middleware.cors import CORSMiddleware
    from starlette.middleware.gzip import GZipMiddleware
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Mount, Route

    async def tag(request: Request, call_next: RequestResponseEndpoint) -> Response:
        response = await call_next(request)
        response.headers["x-outer"] = "seen"
        return response

    async def own(_: Request) -> Response:
        return JSONResponse({"own": True})

    return Starlette(
        routes=[Route("/own", own), Mount("/llm", deltawire.asgi(str(APP)))],
        middleware=[
            Middleware(CORSMiddleware, allow_origins=["https://shop.example"]),
            Middleware(GZipMiddleware, minimum_size=1),
            Middleware(BaseHTTPMiddleware, dispatch=tag),
        ],
    )


@pytest.mark.parametrize("outer", [in_fastapi, in_starlette])
@pytest.mark.usefixtures("upstream", "built_page")
async def test_the_playground_is_where_the_app_is_mounted(outer: Callable[[], ASGIApp]) -> None:
    async with served(outer()) as client:
        page = await client.get("/llm", follow_redirects=True)
        assert page.url.path == "/llm/"
        named = re.findall(r'(?:src|href)="\./([^"]+)"', page.text)
        assert len(named) >= 2
        for name in (*named, "playground.json", "v1/functions"):
            assert (await client.get(f"/llm/{name}")).status_code == 200


@pytest.mark.parametrize("outer", [in_fastapi, in_starlette])
async def test_what_is_mounted_works_under_its_prefix(upstream: Upstream, outer: Callable[[], ASGIApp]) -> None:
    upstream.always(*HELLO)
    async with served(outer()) as client:
        assert (await client.get("/own")).json() == {"own": True}
        assert (await client.post("/llm/v1/functions/say", json=SAY)).json()["output"] == "Hello"
        assert (await client.post("/llm/invoke", json={"type": "say", **SAY})).json() == {"text": "Hello"}
        assert len((await client.get("/llm/v1/functions")).json()["functions"]) > 5
        document = await client.get("/llm/openapi.json")
        assert "/v1/functions/say" in document.json()["paths"]
        assert str(document.url.join(document.json()["servers"][0]["url"]).path) == "/llm/"
        assert 'src="docs/docs.js"' in (await client.get("/llm/docs")).text
        nowhere = (await client.get("/llm/nowhere")).json()
        assert nowhere["detail"] == "nothing is at /llm/nowhere; the functions are listed at /llm/v1/functions"
        foreign = await client.post("/llm/invoke", json={}, headers={"origin": "https://evil.example"})
        assert foreign.json()["reason"] == "forbidden"


@pytest.mark.parametrize("outer", [in_fastapi, in_starlette])
@pytest.mark.parametrize("media", ["text/event-stream", "application/x-ndjson", "text/plain"])
async def test_pieces_come_one_by_one_through_the_outer_app(
    upstream: Upstream, outer: Callable[[], ASGIApp], media: str
) -> None:
    gate = Gate()
    upstream.script(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), done())
    async with served(outer()) as client:
        headers = {"accept": media, "accept-encoding": "identity"}
        async with client.stream("POST", "/llm/v1/functions/say", json=SAY, headers=headers) as response:
            pieces = response.aiter_text()
            seen = ""
            while "Hel" not in seen:
                seen += await anext(pieces)
            assert '"lo"' not in seen
            gate.open()
            seen += "".join([piece async for piece in pieces])
        assert "lo" in seen


async def test_a_caller_who_leaves_the_outer_app_stops_the_run(upstream: Upstream) -> None:
    upstream.script(head(), text("Hel"), silence())
    async with served(in_fastapi()) as client:
        headers = {"accept": "text/event-stream"}
        async with client.stream("POST", "/llm/v1/functions/say", json=SAY, headers=headers) as response:
            await anext(response.aiter_bytes())
        await (await upstream.requested()).client_left(within=1.0)


async def test_a_text_that_fails_is_cut_through_the_outer_app(upstream: Upstream) -> None:
    upstream.script(head(), text("Hel"))
    async with served(in_fastapi()) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post("/llm/v1/functions/say", json=SAY, headers={"accept": "text/plain"})


async def called(upstream: Upstream, client: httpx.AsyncClient, path: str) -> None:
    """The connection to the provider is kept for the next call from then on."""
    upstream.script(*HELLO)
    assert (await client.post(path, json=SAY)).json()["output"] == "Hello"
    assert upstream.open == 1


async def test_a_server_that_runs_the_app_itself_closes_it(upstream: Upstream) -> None:
    async with served(deltawire.asgi(str(APP))) as client:
        await called(upstream, client, "/v1/functions/say")
    await upstream.all_left(within=2.0)


async def test_the_end_of_the_with_closes_it(upstream: Upstream) -> None:
    from fastapi import FastAPI

    inner = deltawire.asgi(str(APP))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        async with inner:
            yield

    outer = FastAPI(lifespan=lifespan)
    outer.mount("/llm", inner)
    async with served(outer) as client:
        await called(upstream, client, "/llm/v1/functions/say")
    await upstream.all_left(within=2.0)


async def test_an_app_that_nobody_has_any_more_is_closed(upstream: Upstream) -> None:
    app = deltawire.asgi(str(APP))
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://a")
    await called(upstream, client, "/v1/functions/say")
    del app, client
    gc.collect()
    await upstream.all_left(within=2.0)


def test_one_app_serves_one_event_loop_after_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As test clients use it: a loop for each call."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DELTAWIRE_MODEL", "openai:m")
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    source = "from deltawire import function\n\n@function\ndef say(message: str) -> str:\n    return message\n"
    (tmp_path / "one.py").write_text(source)

    async def call(app: App) -> str:
        async with Upstream() as upstream:
            monkeypatch.setenv("OPENAI_BASE_URL", upstream.base_url)
            upstream.script(*HELLO)
            client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://a")
            return (await client.get("/v1/functions")).json()["functions"][0]["name"]

    app = deltawire.asgi("one.py")
    assert [asyncio.run(call(app)) for _ in range(3)] == ["say"] * 3


OUTER = """
import sys

import uvicorn
from fastapi import FastAPI
import deltawire

outer = FastAPI()
outer.mount("/llm", deltawire.asgi(sys.argv[1]))
uvicorn.run(outer, port=int(sys.argv[2]), log_level="error", loop=sys.argv[3])
"""


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_local_model_ends_with_the_outer_app(tmp_path: Path, loop: str, end: signal.Signals) -> None:
    """The outer app says nothing to what it mounts. After SIGINT the end of its event loop does; SIGTERM ends uvicorn
    before that, and the model with it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "outer.py").write_text(OUTER)
    command = [sys.executable, "-X", "dev", "outer.py", str(SHOP), str(port), loop]
    environment = {**clean_environment(), "DELTAWIRE_MODEL": "local:smollm2"}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        summarize(port)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert children
        process.send_signal(end)
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    if end is signal.SIGINT:
        assert not [child for child in children if Path(f"/proc/{child}").exists()]
    deadline = time.monotonic() + 5
    while any(runs(child) for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert "error" not in said.lower(), said  # nothing is left open, and nothing fails while it closes


def summarize(port: int) -> None:
    """Ask the local model, as soon as the server is there."""
    url = f"http://127.0.0.1:{port}/llm/v1/functions/summarize"
    end = time.monotonic() + 30
    while True:
        try:
            reply = httpx.post(url, json={"input": "A kettle.", "settings": {"max_tokens": 3}}, timeout=60)
        except httpx.ConnectError:
            assert time.monotonic() < end
            time.sleep(0.05)
        else:
            assert reply.status_code == 200, reply.text
            return


def runs(pid: str) -> bool:
    """Whether the process is there and is no remains of one."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
