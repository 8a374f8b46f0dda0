"""The programs that the page shows, run as they stand: each sends exactly the call on screen, prints exactly the
answer, and tells what failed."""

import json
import re
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.browser.chromium import Chromium
from tests.browser.site import static_site
from tests.clients.program import Ended, Toolchains, running
from tests.clients.stubs import typescript_stubs
from tests.clients.test_in_a_page import HTML, LIBRARIES, NODE, TSC
from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving
from tests.node import Node
from tests.upstream import done, error_event, error_reply, finish, head, text, usage

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
PIECES = ("Hel", "lo,\nwörld \u2028 😀", ' data: "x"\r\n\n', "end")
ANSWER = "".join(PIECES)

# What ends a literal, or means something within one, in some language or other.
HOSTILE = (
    """'"\\ $HOME ${HOME} {$x} `id` $(id) #{1} #$x %s %d \\' \\" '''"""
    "\n\r\n\t\0\x1b[31m\x7f\x85\xa0\u2028\u2029\u202e\u200b\ufeff"
    "\nJSON\nEOF\n<?php ?> </script> é 日本 😀 \U000e0041 \\n \\u0041"
)
MORE: dict[str, Any] = {
    HOSTILE: HOSTILE,
    "__proto__": {"a": 1},
    "": [],
    "0": {"0": "a", "1": {}},
    "1": [None, True, False, -0.5, 1e21, 5e-324, 12345678901234567000, 2**53, -(2**63), [[]], {}],
    "class": {"end": {"nil": "None", "a-b": "null", "constructor": [{"0": 1, "1": 2}]}},
}
CALL: dict[str, Any] = {
    "function": "chat",
    "input": {"message": HOSTILE, "more": MORE},
    "prompt": HOSTILE,
    "user": "it's $me",
    "settings": {"max_tokens": 50, "temperature": 0.5, "seed": 7},
    "timeout": 60,
}
RPC = ("connect", "grpc-web-connect")
ARTICLE = ("article-fastapi", "article-starlette", "article-websocket")
OWN = {
    "sh": ("sse", "ndjson", "text", "connect", "article-fastapi"),
    "py": ("sse", "ndjson", "text", "connect", "article-fastapi", "websocket", "article-websocket"),
    "ts": ("sse", "ndjson", "text", *RPC, "article-starlette", "websocket", "article-websocket"),
    "php": ("sse", "ndjson", "text", "connect", "article-fastapi"),
    "go": ("sse", "ndjson", "text", "connect", "article-fastapi"),
    "rb": ("sse", "ndjson", "text", "connect", "article-fastapi"),
}
EACH = [(ending, wire) for ending, wires in OWN.items() for wire in wires]


class Snippet(NamedTuple):
    code: str
    note: str | None


Snippets = dict[str, dict[str, Snippet]]


async def made(node: Node, call: dict[str, Any], api: str) -> Snippets:
    printed = await node.run(HERE / "snippets.mjs", json.dumps({"call": call, "api": api}))
    wires: dict[str, dict[str, Any]] = json.loads(printed)
    return {
        wire: {ending: Snippet(**snippet) for ending, snippet in by_ending.items()} for wire, by_ending in wires.items()
    }


@pytest.fixture(scope="module")
def called(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with serving(tmp_path_factory.mktemp("called"), environment, app=HERE / "app.py") as server:
        yield server


@pytest.fixture(scope="module")
async def snippets(node_modules: Node, called: Server) -> Snippets:
    return await made(node_modules, CALL, f"{called.url}/")


@pytest.fixture(scope="module")
def stubs(node_modules: Node, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return typescript_stubs(tmp_path_factory.mktemp("stubs"), node_modules)


@pytest.fixture
async def upstream(provider: Provider) -> Provider:
    await provider.begin()
    return provider


@pytest.fixture
def toolchains(program: Callable[[str], str], request: pytest.FixtureRequest) -> Toolchains:
    def node() -> Node:
        return request.getfixturevalue("node_modules")

    return Toolchains(program, node)


def sent(upstream: Provider) -> Any:
    return upstream.exchanges[-1].request.json["messages"][-1]["content"]


@pytest.mark.parametrize(("ending", "wire"), EACH)
async def test_a_snippet_sends_the_call_and_prints_the_answer(
    ending: str,
    wire: str,
    snippets: Snippets,
    upstream: Provider,
    toolchains: Toolchains,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    snippet = snippets[wire][ending]
    assert snippet.note is None
    file = tmp_path / f"snippet.{ending}"
    file.write_text(snippet.code)
    if wire in RPC and ending == "ts":
        (tmp_path / "gen").symlink_to(request.getfixturevalue("stubs"))
    command = await toolchains.command(file)
    bytes_too = (ending, wire) == ("sh", "connect")

    async def ran() -> Ended:
        async with running(["sh", "-c", '"$@" >out', "sh", *command] if bytes_too else command, tmp_path) as started:
            ended = await started.ended()
        return Ended(ended.code, (tmp_path / "out").read_text(errors="replace"), ended.err) if bytes_too else ended

    upstream.script(head(), *map(text, PIECES), finish("stop"), usage(9, 2), done())
    ended = await ran()
    assert (ended.code, ended.err) == (0, "")
    assert printed(ending, wire, ended.out) == (ANSWER.replace("\r", "") if wire in ARTICLE else ANSWER)
    assert_sent(upstream, wire)

    upstream.script(error_reply(400, "not this one"))
    ended = await ran()
    assert ended.code != 0 or (ending, wire) == ("sh", "connect")
    assert "not this one" in ended.out + ended.err

    upstream.script(head(), text("Hel"), error_event("broken"))
    ended = await ran()
    assert ended.code != 0 or ending == "sh"
    assert printed(ending, wire, ended.out).startswith("Hel")
    assert "broken" in ended.out + ended.err or wire == "text"


async def test_the_snippets_in_typescript_pass_the_compiler(
    node_modules: Node, snippets: Snippets, stubs: Path, tmp_path: Path
) -> None:
    node_modules.link(tmp_path)
    (tmp_path / "gen").symlink_to(stubs)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node.d.ts").write_text(NODE)
    for wire, by_ending in snippets.items():
        (tmp_path / f"{wire}.ts").write_text(f"export {{}}\n{by_ending['ts'].code}")
    tsc = node_modules.package("typescript/lib/tsc.js")
    files = [f"{wire}.ts" for wire in snippets]
    await node_modules.run(tsc, *TSC.split(), "--lib", LIBRARIES, "node.d.ts", *files, folder=tmp_path)


async def test_googles_client_runs_in_a_page(
    node_modules: Node,
    stubs: Path,
    browser: Chromium,
    environment: dict[str, str],
    upstream: Provider,
    tmp_path: Path,
) -> None:
    """Where alone it does: it needs an XMLHttpRequest."""
    upstream.script(head(), *map(text, PIECES), finish("stop"), usage(9, 2), done())
    source, served = tmp_path / "source", tmp_path / "served"
    source.mkdir()
    served.mkdir()
    node_modules.link(source)
    (source / "gen").symlink_to(stubs)
    (served / "index.html").write_text(HTML.replace("FILE", "google.js"))
    with static_site(served) as origin:
        allowed = {**environment, "DELTAWIRE_HTTP__ALLOWED_ORIGINS": origin}
        with serving(tmp_path, allowed, app=HERE / "app.py") as server:
            wires = await made(node_modules, CALL, f"{server.url}/")
            (source / "google.ts").write_text(wires["grpc-web-google"]["ts"].code)
            flags = ("--bundle", "--format=esm", "--log-level=warning", f"--outdir={served}")
            await node_modules.run(node_modules.package("esbuild/bin/esbuild"), "google.ts", *flags, folder=source)
            async with browser.page(f"{origin}/index.html") as page:
                await page.call("shown", ANSWER[-8:])
                assert await page.call("printed") == ANSWER
                assert await page.call("over") == ""
    assert_sent(upstream, "grpc-web-google")


async def test_where_a_language_does_not_speak_a_wire_the_nearest_is_taken(snippets: Snippets) -> None:
    others = {(ending, wire) for wire, by_ending in snippets.items() for ending in by_ending if by_ending[ending].note}
    same = {"article-fastapi": "article-starlette", "article-starlette": "article-fastapi"}
    own = {*EACH, *((ending, same[wire]) for ending, wire in EACH if wire in same)}
    everything = {(ending, wire) for wire, by_ending in snippets.items() for ending in by_ending}
    assert others == everything - own - {("ts", "grpc-web-google")}


def assert_sent(upstream: Provider, wire: str) -> None:
    request = upstream.exchanges[-1].request.json
    message, more = json.loads(request["messages"][-1]["content"])
    assert message == HOSTILE
    if wire in ARTICLE:
        assert more is None
    else:
        assert doubles(more) == doubles(MORE)
    if wire == "article-websocket":
        assert request["max_completion_tokens" if "max_completion_tokens" in request else "max_tokens"] == 100
    else:
        assert (request["temperature"], request["seed"]) == (0.5, 7)


def doubles(value: Any) -> Any:
    """With all numbers as JavaScript has them."""
    match value:
        case bool():
            return value
        case int():
            return float(value)
        case list():
            return [doubles(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
        case dict():
            return {name: doubles(each) for name, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


def printed(ending: str, wire: str, out: str) -> str:
    """The answer in what was printed: curl prints the bytes of the wire."""
    if ending != "sh":
        return out
    match wire:
        case "sse":
            return "".join(json.loads(data)["text"] for data in re.findall(r"^event: text\ndata: (.*)$", out, re.M))
        case "ndjson":
            events = [json.loads(line) for line in out.split("\n") if line]
            return "".join(event["text"] for event in events if event["type"] == "text")
        case "text":
            return out
        case "connect":
            messages = [json.loads(found) for found in re.findall(r"\{[^\0]*\}", out)]
            return "".join(message.get("text", "") for message in messages)
        case _:
            events = [event.split("\n") for event in out.split("\n\n") if not event.startswith("event: ")]
            return "".join("\n".join(line[6:] for line in event) for event in events)
