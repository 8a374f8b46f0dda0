"""Which web pages may call, and under which names a server on loopback may be called."""

import pytest
from starlette.types import Receive, Scope, Send

from deltawire.transports.http.guard import Guard
from deltawire.transports.http.settings import HttpSettings
from tests.engine.stage import stage
from tests.transports.asgi import Receives, Sends, scope

pytestmark = pytest.mark.anyio


async def _app(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def status(
    *headers: tuple[str, str],
    method: str = "POST",
    on_loopback: bool = True,
    allowed_hosts: str = "",
    allowed_origins: str = "",
) -> int | None:
    settings = HttpSettings.model_validate({"allowed_hosts": allowed_hosts, "allowed_origins": allowed_origins})
    async with stage([]) as on:
        guard = Guard(_app, on.engine, settings, on_loopback=on_loopback)
        sends = Sends()
        await guard(scope(method, headers=headers), Receives(), sends)
        assert len(on.records) == (sends.status != 204)
        return sends.status


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8000",
        "LOCALHOST:8000",
        "localhost.:8000",
        "127.0.0.1",
        "127.0.0.1:8000",
        "[::1]:8000",
        "[::1]",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_name_of_this_machine_may_be_called(host: str, method: str) -> None:
    assert await status(("host", host), method=method) == 204


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8000",
        "localhost.evil.example",
        "evil-localhost",
        "localhost@evil.example",
        "localhost:8000@evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.2",
        "0.0.0.0",
        "192.168.0.1:8000",
        "[::2]",
        "[::1",
        "localhost:port",
        "localhost:99999",
        "",
        ".",
        "localhost, evil.example",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_another_name_on_loopback_is_a_rebound_one(host: str, method: str) -> None:
    assert await status(("host", host), method=method) == 403


async def test_a_request_without_a_host_is_refused_on_loopback_only() -> None:
    assert await status() == 403
    assert await status(on_loopback=False) == 204


@pytest.mark.parametrize("on_loopback", [True, False])
async def test_a_request_with_two_hosts_is_refused_though_the_first_is_ours(on_loopback: bool) -> None:
    for second in ("evil.example", "localhost"):
        hosts = (("host", "localhost"), ("host", second))
        for method in ("GET", "POST"):
            assert await status(*hosts, method=method, on_loopback=on_loopback) == 400


async def test_elsewhere_any_name_may_be_called() -> None:
    assert await status(("host", "shop.example"), on_loopback=False) == 204


@pytest.mark.parametrize(
    "allowed", ["dev.example", "DEV.example.", "dev.example:8000", "a.example, dev.example", "[fe80::1]"]
)
async def test_more_names_can_be_allowed(allowed: str) -> None:
    host = "[fe80::1]:8000" if "fe80" in allowed else "Dev.Example.:8000"
    assert await status(("host", host), allowed_hosts=allowed) == 204
    assert await status(("host", "other.example"), allowed_hosts=allowed) == 403


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:8000", "localhost:8000"),
        ("HTTP://LOCALHOST:8000", "localhost:8000"),
        ("http://localhost", "localhost:80"),
        ("http://localhost:80", "localhost"),
        ("https://shop.example", "shop.example"),
        ("https://shop.example", "shop.example:443"),
        ("http://[::1]:8000", "[::1]:8000"),
        ("https://shop.example", "shop.example."),
    ],
)
async def test_a_page_of_our_own_may_call(origin: str, host: str) -> None:
    assert await status(("host", host), ("origin", origin), on_loopback=False) == 204


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("null", "localhost:8000"),
        ("", "localhost:8000"),
        ("http://", "localhost:8000"),
        ("://localhost:8000", "localhost:8000"),
        ("localhost:8000", "localhost:8000"),
        ("http://localhost:3000", "localhost:8000"),
        ("http://localhost", "localhost:8000"),
        ("http://127.0.0.1:8000", "localhost:8000"),
        ("http://evil.example", "localhost:8000"),
        ("http://localhost.evil.example:8000", "localhost:8000"),
        ("http://localhost:8000@evil.example", "localhost:8000"),
        ("http://shop.example.evil.example", "shop.example"),
        ("https://shop.example:8443", "shop.example"),
        ("http://shop.example", "shop.example:443"),
        ("chrome-extension://shop.example", "shop.example"),
        ("capacitor://localhost", "localhost"),
        ("file://localhost", "localhost"),
        ("http://[", "["),
        ("http://a:99999", "b:99999"),
        ("http://:80", ""),
    ],
)
async def test_a_foreign_page_may_not_call(origin: str, host: str) -> None:
    assert await status(("host", host), ("origin", origin), on_loopback=False) == 403


async def test_every_one_of_several_origins_must_be_allowed() -> None:
    own, foreign = ("origin", "http://localhost:8000"), ("origin", "http://evil.example")
    host = ("host", "localhost:8000")
    assert await status(host, own, own) == 204
    assert await status(host, own, foreign) == 403
    assert await status(host, foreign, own) == 403
    assert await status(host, ("origin", "http://localhost:8000, http://evil.example")) == 403


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
async def test_a_foreign_page_may_look(method: str) -> None:
    assert await status(("host", "localhost"), ("origin", "http://evil.example"), method=method) == 204


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "post"])
async def test_no_other_method_gets_around(method: str) -> None:
    assert await status(("host", "localhost"), ("origin", "http://evil.example"), method=method) == 403


@pytest.mark.parametrize(
    "allowed", ["https://shop.example", "https://SHOP.example/", "https://a.example,https://shop.example"]
)
async def test_foreign_pages_can_be_allowed(allowed: str) -> None:
    host = ("host", "localhost")
    assert await status(host, ("origin", "https://Shop.example"), allowed_origins=allowed) == 204
    assert await status(host, ("origin", "http://shop.example"), allowed_origins=allowed) == 403
    assert await status(host, ("origin", "null"), allowed_origins=allowed) == 403
