"""What a page sees of a run: with each client that speaks for itself, straight and through Envoy."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.browser.chromium import Chromium, Page
from tests.browser.envoy import Envoy
from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.upstream import answer, delay, done, error_event, error_reply, finish, head, role, silence, text

pytestmark = pytest.mark.anyio

PIECES = [f"{number} " for number in range(20)]
PACE = 50
"""Milliseconds between two pieces."""


class Wire(NamedTuple):
    client: str
    way: str

    def __str__(self) -> str:
        return f"{self.client}-{self.way}"


STRAIGHT = [
    Wire(client, "straight")
    for client in ("grpcWebText", "connect", "connectJson", "connectGrpcWeb", "sse", "websocket")
]
THROUGH_ENVOY = [Wire(client, "envoy") for client in ("grpcWebText", "connectGrpcWeb")]
WHOLE = [Wire("grpcWebBinary", "straight"), Wire("grpcWebBinary", "envoy")]
"""Google's client in its binary mode, which shows nothing before it has everything."""
RPC = [wire for wire in STRAIGHT + THROUGH_ENVOY + WHOLE if wire.client not in ("sse", "websocket")]

each_stream = pytest.mark.parametrize("wire", STRAIGHT + THROUGH_ENVOY, ids=str)
each_wire = pytest.mark.parametrize("wire", STRAIGHT + THROUGH_ENVOY + WHOLE, ids=str)

Begin = Callable[[Page, Wire], Any]


class Visit:
    """A call that a page has begun."""

    def __init__(self, page: Page, number: int) -> None:
        self._page = page
        self._number = number

    async def seen(self, count: int) -> None:
        """Return when the page has so many pieces."""
        await self._page.call("seen", self._number, count)

    async def leave(self) -> None:
        await self._page.call("leave", self._number)

    async def outcome(self) -> dict[str, Any]:
        """All that came, when no more comes."""
        return await self._page.call("outcome", self._number)


@pytest.fixture
def url(request: pytest.FixtureRequest, wire: Wire, open_server: Server) -> str:
    if wire.way == "straight":
        return open_server.url
    proxy: Envoy = request.getfixturevalue("proxy")
    return proxy.url


async def begin(page: Page, wire: Wire, url: str, **more: object) -> Visit:
    request = {"name": "say", "input": {"message": "hi"}, **more}
    return Visit(page, await page.call("begin", wire.client, url, request))


@each_stream
async def test_pieces_arrive_one_by_one(page: Page, upstream: Provider, wire: Wire, url: str) -> None:
    paced = [step for piece in PIECES for step in (text(piece), delay(PACE / 1000))]
    upstream.script(head(), *paced, finish("stop"), done())
    came = await (await begin(page, wire, url)).outcome()
    assert (came["finish"], came["error"]) == ("stop", None)
    assert "".join(piece["text"] for piece in came["pieces"]) == "".join(PIECES)
    # A machine that is busy with something else may make two of one. A wire that collects them makes a heap.
    times = [piece["at"] for piece in came["pieces"]]
    assert len(times) >= len(PIECES) * 0.8
    assert times[-1] - times[0] >= (len(PIECES) - 1) * PACE * 0.8
    together = [len(list(group)) for _, group in itertools.groupby(at // (PACE / 5) for at in times)]
    assert max(together) <= len(PIECES) / 3


@pytest.mark.parametrize("wire", WHOLE, ids=str)
async def test_an_answer_that_a_client_reads_whole_is_whole(
    page: Page, open_server: Server, upstream: Provider, wire: Wire, url: str
) -> None:
    upstream.script(answer("Hel", "lo"))
    came = await (await begin(page, wire, url)).outcome()
    assert "".join(piece["text"] for piece in came["pieces"]) == "Hello"
    [line] = open_server.runs_logged()
    assert (came["finish"], came["error"], came["runId"]) == ("stop", None, line["run_id"])


@each_wire
async def test_a_failure_before_the_first_piece_can_be_read(
    page: Page, open_server: Server, upstream: Provider, wire: Wire, url: str
) -> None:
    upstream.script(error_reply(429, "slöw down"))
    came = await (await begin(page, wire, url)).outcome()
    [line] = open_server.runs_logged()
    assert came == {
        "pieces": [],
        "finish": None,
        "runId": line["run_id"],
        "error": {
            "code": "resource_exhausted",
            "message": line["message"],
            "reason": "upstream_rate_limited",
            "about": {"run_id": line["run_id"], "partial": "false"},
        },
    }


@each_wire
async def test_a_failure_after_the_first_piece_can_be_read(
    page: Page, open_server: Server, upstream: Provider, wire: Wire, url: str
) -> None:
    upstream.script(head(), text("Hel"), error_event("slöw down", code="rate_limit_exceeded"))
    came = await (await begin(page, wire, url)).outcome()
    [line] = open_server.runs_logged()
    assert [piece["text"] for piece in came["pieces"]] == ["Hel"]
    assert (came["finish"], came["runId"]) == (None, line["run_id"])
    assert came["error"] == {
        "code": "resource_exhausted",
        "message": line["message"],
        "reason": "upstream_rate_limited",
        "about": {"run_id": line["run_id"], "partial": "true"},
    }


@each_wire
@pytest.mark.parametrize("way", ["abort", "close"])
async def test_leaving_before_the_first_piece_stops_the_provider(
    page: Page, upstream: Provider, wire: Wire, url: str, way: str
) -> None:
    upstream.script(head(), role(), silence())
    visit = await begin(page, wire, url)
    exchange = await upstream.requested()
    await (visit.leave() if way == "abort" else page.close())
    await exchange.client_left(within=1.0)


@each_stream
@pytest.mark.parametrize("way", ["abort", "close"])
async def test_leaving_in_the_middle_of_an_answer_stops_the_provider(
    page: Page, upstream: Provider, wire: Wire, url: str, way: str
) -> None:
    upstream.script(head(), text("Hel"), silence())
    visit = await begin(page, wire, url)
    exchange = await upstream.requested()
    await visit.seen(1)
    await (visit.leave() if way == "abort" else page.close())
    await exchange.client_left(within=1.0)


@pytest.mark.parametrize("wire", RPC, ids=str)
async def test_a_callers_deadline_ends_the_run(page: Page, upstream: Provider, wire: Wire, url: str) -> None:
    upstream.script(head(), role(), silence())
    visit = await begin(page, wire, url, timeout=1.0)
    exchange = await upstream.requested()
    await exchange.client_left(within=2.0)
    assert asyncio.get_running_loop().time() - exchange.arrived_at >= 0.3  # of the second, after the way through a page
    error = (await visit.outcome())["error"]
    assert error["code"] == "deadline_exceeded"
    if wire.client.startswith("grpcWeb"):  # the other client keeps the time itself, too
        assert error["reason"] == "total_timeout", error


@pytest.mark.parametrize("wire", STRAIGHT + THROUGH_ENVOY, ids=str)
async def test_a_page_of_another_origin_reaches_no_provider(
    browser: Chromium, origin: str, upstream: Provider, wire: Wire, url: str
) -> None:
    async with browser.page(origin.replace("127.0.0.1", "localhost")) as page:
        came = await (await begin(page, wire, url)).outcome()
    assert (came["pieces"], came["finish"]) == ([], None)
    assert upstream.exchanges == []
