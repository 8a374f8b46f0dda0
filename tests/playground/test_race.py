"""A race on the page: which lanes run at once, what it says of their answers, and that it can be stopped."""

from itertools import count
from typing import Any

import pytest

from tests.browser.chromium import Page
from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.playground.hands import Hands
from tests.upstream import Gate, Step, done, error_event, finish, head, silence, text, usage

pytestmark = pytest.mark.anyio

WIRES = (
    "sse",
    "ndjson",
    "text",
    "websocket",
    "connect",
    "grpc-web-connect",
    "grpc-web-google",
    "article-fastapi",
    "article-starlette",
    "article-websocket",
)
PIECES = ("Hel", "lo,\nwörld \u2028 😀", ' data: "x"\r\n\n', "end")
END: tuple[Step, ...] = (finish("stop"), usage(9, 4), done())
STATES = "() => [...document.querySelectorAll('.lane')].map(({ dataset }) => dataset.state)"
TABLE = """() => [...document.querySelectorAll(".race-table tbody tr")]
  .map((row) => [...row.children].map((cell) => cell.textContent))"""
HOLD_CLIPBOARD = "() => { navigator.clipboard.writeText = async (text) => { window.copied = text } }"


class Racing:
    def __init__(self, page: Page, hands: Hands) -> None:
        self.page = page
        self._hands = hands

    async def start(self, function: str, lanes: int) -> None:
        await self._hands.open(function)
        await self._hands.write("message", "Say it")
        await self._hands.click("Race")
        await self._hands.click(f"Race {lanes} lanes")

    async def click(self, name: str) -> None:
        await self._hands.click(name)

    async def verdict(self) -> str:
        """What the page says at the end."""
        await self.page.until("() => !!document.querySelector('.verdict')")
        return await self.page.call("() => document.querySelector('.verdict').textContent")

    async def states(self) -> list[str]:
        return await self.page.call(STATES)

    async def lane(self, wire: str) -> str:
        return await self.page.call("(id) => document.querySelector(`[data-wire=${id}] pre`).textContent", wire)


@pytest.fixture
async def racing(page: Page, playground: Server) -> Racing:
    return Racing(page, Hands(page, playground.url))


async def test_a_race_ends_with_all_answers_equal(racing: Racing, upstream: Provider) -> None:
    upstream.always(head(), *map(text, PIECES), *END)
    await racing.start("chat", len(WIRES))
    said = await racing.verdict()
    assert said == f"✓ All 10 answers are equal: {len(''.join(PIECES))} characters, each one the same on every wire."
    assert await racing.states() == ["finished"] * len(WIRES)
    for wire in WIRES:
        answer = "".join(PIECES)
        assert await racing.lane(wire) == (answer.replace("\r", "") if wire.startswith("article-") else answer), wire
    asked = [exchange.request.json["messages"][-1]["content"] for exchange in upstream.exchanges]
    assert asked == ["Say it"] * len(WIRES)


async def test_the_figures_are_in_a_table_that_can_be_copied(racing: Racing, upstream: Provider) -> None:
    first, second = Gate(), Gate()
    upstream.always(head(), text("Hel"), first.wait(), text("lo"), second.wait(), text("!"), *END)
    await racing.start("say", 7)
    await first.reached(6)
    first.open()
    second.open()
    await racing.verdict()
    rows = await racing.page.call(TABLE)
    assert [row[0] for row in rows][:3] == ["SSE", "NDJSON", "Text"]
    for row in rows:
        assert row[-1] == "finished"
        assert row[6] == "6", row  # characters
        assert all(cell[0].isdigit() for cell in [row[1], row[5], row[7], row[8]]), row
    await racing.page.call(HOLD_CLIPBOARD)
    await racing.click("Copy the table")
    copied: str = await racing.page.until("() => window.copied")
    assert [line.strip("| ").split(" | ") for line in copied.splitlines()[2:]] == rows


async def test_five_lanes_over_http_run_at_once_on_a_scripted_model(racing: Racing, upstream: Provider) -> None:
    gate = Gate()
    upstream.always(head(), text("Hel"), gate.wait(), text("lo"), *END)
    await racing.start("chat", len(WIRES))
    await gate.reached(7)  # two of them are WebSockets
    http = [state for state, wire in zip(await racing.states(), WIRES, strict=True) if "websocket" not in wire]
    assert http == ["running"] * 5 + ["waiting"] * 3
    assert "at most 5" in await racing.page.call("() => document.querySelector('.race').textContent")
    gate.open()
    assert "All 10 answers are equal" in await racing.verdict()


async def test_on_a_real_model_one_lane_runs_after_the_other(racing: Racing, upstream: Provider) -> None:
    gate = Gate()
    upstream.always(head(), text("Hel"), gate.wait(), text("lo"), *END)
    await racing.start("real", 7)
    await gate.reached()
    assert await racing.states() == ["running"] + ["waiting"] * 6
    assert "one after another" in await racing.page.call("() => document.querySelector('.race').textContent")
    gate.open()
    assert "All 7 answers are equal" in await racing.verdict()


async def test_a_different_answer_is_told(racing: Racing, upstream: Provider) -> None:
    number = count()
    upstream.answer_with(lambda _: (head(), text("Hello" if next(number) != 1 else "Help"), *END))
    await racing.start("real", 7)
    word = await racing.verdict()
    assert word == "✗ The answers differ: 1 of 7 (NDJSON) from that of SSE, NDJSON from character 4 on."


async def test_a_lane_that_fails_says_why(racing: Racing, upstream: Provider) -> None:
    number = count()
    good, bad = (head(), text("Hello"), *END), (head(), text("Hel"), error_event("broken on purpose"))
    upstream.answer_with(lambda _: bad if next(number) == 1 else good)
    await racing.start("real", 7)
    assert (await racing.verdict()).startswith("! 1 of 7 lanes did not finish. All 6 answers are equal")
    assert "broken on purpose" in await racing.lane("ndjson")
    assert (await racing.states())[1] == "failed"


@pytest.mark.parametrize("way", ["the button", "Esc", "another function"])
async def test_a_race_that_is_stopped_stops_the_model_of_each_lane(
    racing: Racing, upstream: Provider, playground: Server, way: str
) -> None:
    gate = Gate()
    upstream.always(head(), text("Hel"), gate.wait(), silence())
    await racing.start("chat", len(WIRES))
    await gate.reached(7)
    match way:
        case "the button":
            await racing.click("Stop the race")
        case "Esc":
            await Hands(racing.page, playground.url).press("Escape")
        case _:
            await Hands(racing.page, playground.url).open("say")
    for exchange in upstream.exchanges:
        await exchange.client_left()
    assert len(upstream.exchanges) == 7
    if way != "another function":
        assert await racing.verdict() == "! No lane finished."
        assert await racing.states() == ["stopped"] * len(WIRES)


async def test_a_race_goes_on_while_another_tab_is_shown(racing: Racing, upstream: Provider) -> None:
    gate = Gate()
    upstream.always(head(), text("Hel"), gate.wait(), text("lo"), *END)
    await racing.start("chat", len(WIRES))
    await gate.reached(7)
    await racing.click("Code")
    gate.open()
    await racing.click("Race")
    assert "All 10 answers are equal" in await racing.verdict()


async def test_lanes_can_be_left_out(racing: Racing, upstream: Provider) -> None:
    upstream.always(head(), text("Hello"), *END)
    hands: Any = racing._hands  # pyright: ignore[reportPrivateUsage]
    await hands.open("say")
    await hands.write("message", "Say it")
    await hands.click("Race")
    await racing.page.call("() => [...document.querySelectorAll('.chip input')].slice(2).map((each) => each.click())")
    await hands.click("Race 2 lanes")
    assert "All 2 answers are equal" in await racing.verdict()
    assert len(upstream.exchanges) == 2
