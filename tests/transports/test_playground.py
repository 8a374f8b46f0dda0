"""``/`` and its assets, whatever page was built, or none; and what ``/playground.json`` says. ``tests/playground`` has
the page itself.
"""

import gzip
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Message

from deltawire import Variant, function
from deltawire.bootstrap.core import Core, build_core
from deltawire.domain.function import Function
from deltawire.providers.scripted import Scripted
from deltawire.settings import Settings
from deltawire.transports.http.playground import playground
from deltawire.transports.http.refusals import Refusals
from tests.matrix.server import Server, serving
from tests.transports.asgi import Sends
from tests.transports.raw import ask

pytestmark = pytest.mark.anyio

SCRIPT = b"console.log('playground');" * 50


@function
def say(message: str) -> str:
    return message


@function
def tally(numbers: list[int]) -> str:
    return str(numbers)


@function(variants=[Variant("a", model="scripted:m"), Variant("b", model="other:m")])
def split(message: str) -> str:
    return message


@pytest.fixture
async def core() -> AsyncGenerator[Core]:
    functions: dict[str, Function] = {each.name: each for each in (say, tally, split)}
    core = build_core(
        functions,
        Settings.model_construct(model="scripted:m"),
        [],
        providers={"scripted": Scripted("Hello"), "other": Scripted("Hello")},
    )
    yield core
    await core.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A page as it is built."""
    assets = tmp_path / "page" / "assets"
    assets.mkdir(parents=True)
    (assets.parent / "index.html").write_bytes(b"<!doctype html>")
    (assets.parent / "made-of.txt").write_bytes(b"0")
    (assets / "index-a1.js").write_bytes(SCRIPT)
    (assets / "index-a1.js.gz").write_bytes(gzip.compress(SCRIPT))
    (assets / "icon-b2.svg").write_bytes(b"<svg/>")
    return assets.parent


def moved(folder: Path, name: str) -> Path:
    return folder.rename(folder.with_name(name))


def pages(core: Core, folder: Path, article_function: str = "say") -> dict[str, ASGIApp]:
    return playground(core.engine, Refusals(core.engine), article_function, "1.2", folder)


async def get(app: ASGIApp, name: str = "", **headers: str) -> Sends:
    """What it answers; its headers are those of ``headers`` with dashes."""

    async def receive() -> Message:
        raise AssertionError("nobody reads the body of a GET")

    sends = Sends()
    sent = [(key.replace("_", "-").encode(), value.encode()) for key, value in headers.items()]
    path = {"path": f"/assets/{name}", "root_path": "", "path_params": {"name": name}, "query_string": b""}
    await app({"type": "http", "method": "GET", "headers": sent, "server": ("localhost", 80), **path}, receive, sends)
    return sends


async def test_a_strict_policy_holds_the_page(core: Core, folder: Path) -> None:
    reply = await get(pages(core, folder)["/"])
    assert (reply.status, reply.chunks) == (200, [b"<!doctype html>"])
    policy = dict(part.strip().split(" ", 1) for part in reply.headers["content-security-policy"].split(";"))
    nothing, own = ("default-src", "base-uri", "form-action", "frame-ancestors", "trusted-types"), "'self'"
    assert policy == {
        **dict.fromkeys(nothing, "'none'"),
        **dict.fromkeys(("script-src", "style-src", "connect-src", "img-src"), own),
        "require-trusted-types-for": "'script'",
    }
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["x-content-type-options"] == "nosniff"
    again = await get(pages(core, folder)["/"], if_none_match=reply.headers["etag"])
    assert (again.status, again.chunks, again.headers["cache-control"]) == (304, [b""], "no-cache")


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br", "gzip"),
        ("br;q=1.0, GZIP;q=0.5", "gzip"),
        ("x-gzip", "gzip"),
        ("gzip;q=0", None),
        ("gzip; q=0.0, br", None),
        ("gzipped", None),
        ("*", None),
        ("", None),
    ],
)
async def test_an_asset_is_kept_forever_and_compressed_for_who_takes_it(
    core: Core, folder: Path, accepted: str, coding: str | None
) -> None:
    reply = await get(pages(core, folder)["/assets/{name}"], "index-a1.js", accept_encoding=accepted)
    [body] = reply.chunks
    assert (gzip.decompress(body) if coding else body) == SCRIPT
    assert int(reply.headers["content-length"]) == len(body)
    assert reply.headers.get("content-encoding") == coding
    assert reply.headers["vary"] == "accept-encoding"
    assert reply.headers["content-type"] == "text/javascript; charset=utf-8"
    assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"


async def test_an_asset_that_is_no_smaller_compressed_is_sent_as_it_is(core: Core, folder: Path) -> None:
    reply = await get(pages(core, folder)["/assets/{name}"], "icon-b2.svg", accept_encoding="gzip")
    assert (reply.chunks, reply.headers["content-type"]) == ([b"<svg/>"], "image/svg+xml")
    assert not {"content-encoding", "vary"} & reply.headers.keys()


@pytest.mark.parametrize("name", ["index-a2.js", "index-a1.js.gz", "..", "../index.html", "../made-of.txt", ""])
async def test_nothing_else_of_the_folder_is_served(core: Core, folder: Path, name: str) -> None:
    reply = await get(pages(core, folder)["/assets/{name}"], name)
    assert (reply.status, json.loads(reply.chunks[0])["reason"]) == (404, "unknown_path")


async def test_a_page_and_its_assets_belong_together_though_another_is_built(core: Core, folder: Path) -> None:
    served = pages(core, folder)
    await get(served["/"])
    moved(folder, "old")
    assert (await get(served["/"])).chunks == [b"<!doctype html>"]
    assert (await get(served["/assets/{name}"], "index-a1.js")).chunks == [SCRIPT]


async def test_where_nothing_is_built_the_page_says_so_until_it_is(core: Core, folder: Path) -> None:
    aside = moved(folder, "aside")
    served = pages(core, folder)
    missing = await get(served["/"])
    assert (missing.status, missing.headers["content-type"]) == (404, "text/plain; charset=utf-8")
    assert b"`make web` builds it" in missing.chunks[0]
    assert (await get(served["/assets/{name}"], "index-a1.js")).status == 404
    assert (await get(served["/playground.json"])).status == 200
    moved(aside, folder.name)
    assert (await get(served["/"])).status == 200


@pytest.mark.parametrize(("article_function", "told"), [("say", "say"), ("tally", None), ("chat", None)])
async def test_the_page_is_told_where_the_wires_are(
    core: Core, folder: Path, article_function: str, told: str | None
) -> None:
    reply = await get(pages(core, folder, article_function)["/playground.json"])
    assert json.loads(reply.chunks[0]) == {
        "api": "./",
        "grpc_web": "./",
        "article_function": told,
        "scripted": ["say", "tally"],
        "version": "1.2",
    }


async def test_without_it_its_paths_are_none(environment: dict[str, str], tmp_path: Path) -> None:
    with serving(tmp_path, {**environment, "DELTAWIRE_HTTP__PLAYGROUND": "false"}) as server:
        for path in ("/", "/assets/index-a1.js", "/playground.json"):
            reply = await ask(server, "GET", path)
            assert (reply.status, json.loads(reply.body)["reason"]) == (404, "unknown_path")


async def test_the_pages_paths_take_get_alone(server: Server) -> None:
    for path in ("/", "/assets/index-a1.js", "/playground.json"):
        reply = await ask(server, "POST", path)
        assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
