"""What a browser is told of who may call from another page."""

import json
from collections.abc import Generator

import pytest
from pydantic import ValidationError

from deltawire.transports.http.settings import HttpSettings
from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving
from tests.transports.raw import SAY, RawReply, ask
from tests.upstream import done, error_reply, finish, head, text

pytestmark = pytest.mark.anyio

RUN = "/v1/functions/say"
SHOP = "origin: https://shop.example"
PREFLIGHT = ("access-control-request-method: POST", "access-control-request-headers: content-type, x-stainless-os")


@pytest.fixture(scope="module")
def open_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    allowed = {"DELTAWIRE_HTTP__ALLOWED_ORIGINS": "https://Shop.example/, capacitor://localhost"}
    with serving(tmp_path_factory.mktemp("cors"), {**environment, **allowed}) as server:
        yield server


def told(reply: RawReply) -> dict[str, str]:
    return {name: value for name, value in reply.headers.items() if name.startswith("access-control") or name == "vary"}


@pytest.mark.parametrize("origin", ["https://shop.example", "capacitor://localhost"])
async def test_a_preflight_of_an_allowed_origin(open_server: Server, origin: str) -> None:
    reply = await ask(open_server, "OPTIONS", RUN, f"origin: {origin}", *PREFLIGHT)
    assert (reply.status, reply.body) == (204, b"")
    assert told(reply) == {
        "vary": "origin",
        "access-control-allow-origin": origin,
        "access-control-allow-methods": "GET, HEAD, POST",
        "access-control-max-age": "600",
        "access-control-allow-headers": "content-type, x-stainless-os",
    }


async def test_a_page_of_the_web_may_ask_for_a_server_of_the_local_network(open_server: Server) -> None:
    reply = await ask(open_server, "OPTIONS", RUN, SHOP, *PREFLIGHT, "access-control-request-private-network: true")
    assert reply.headers["access-control-allow-private-network"] == "true"


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "https://shop.example.evil.example", "http://shop.example"]
)
async def test_any_other_origin_is_told_nothing_and_refused(open_server: Server, origin: str) -> None:
    preflight = await ask(open_server, "OPTIONS", RUN, f"origin: {origin}", *PREFLIGHT)
    assert told(preflight) == {"vary": "origin"}
    call = await ask(open_server, "POST", RUN, f"origin: {origin}", body=SAY)
    assert (call.status, told(call)) == (403, {"vary": "origin"})


async def test_replies_and_failures_can_be_read(provider: Provider, open_server: Server) -> None:
    await provider.begin()
    provider.script(head(), text("Hello"), finish("stop"), done())
    provider.script(error_reply(429, "slow down", headers={"retry-after": "2"}))
    seen = {
        "vary": "origin",
        "access-control-allow-origin": "https://shop.example",
        "access-control-expose-headers": (
            "deltawire-run-id, retry-after, grpc-status, grpc-message, grpc-status-details-bin"
        ),
    }
    for status in (200, 429):
        reply = await ask(open_server, "POST", RUN, SHOP, "accept: text/event-stream", body=SAY)
        assert (reply.status, told(reply)) == (status, seen)
    nowhere = await ask(open_server, "GET", "/nowhere", SHOP)
    assert (json.loads(nowhere.body)["reason"], told(nowhere)) == ("unknown_path", seen)


@pytest.mark.parametrize("origins", ["*", "https://*.example", "shop.example", "https://shop.example/page"])
def test_what_is_no_origin_is_refused_at_start(origins: str) -> None:
    with pytest.raises(ValidationError, match=r"is no origin: write each as https://example\.com"):
        HttpSettings.model_validate({"allowed_origins": origins})


async def test_a_server_that_allows_no_origin_says_nothing_of_it(server: Server) -> None:
    assert told(await ask(server, "OPTIONS", RUN, SHOP, *PREFLIGHT)) == {}


async def test_no_credentials_are_ever_allowed(open_server: Server) -> None:
    for reply in [await ask(open_server, method, RUN, SHOP, *PREFLIGHT) for method in ("OPTIONS", "GET")]:
        assert "access-control-allow-credentials" not in reply.headers
