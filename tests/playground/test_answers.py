"""An answer on the page: it grows as it arrives on every wire, stops when it is told to, fails in full, and is shown as
it is, whatever it holds."""

import json
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import Chromium, Page
from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving
from tests.playground.conftest import APP
from tests.playground.hands import Hands
from tests.upstream import (
    Gate,
    Step,
    done,
    error_event,
    error_reply,
    finish,
    head,
    reasoning,
    role,
    silence,
    text,
    usage,
)

pytestmark = pytest.mark.anyio

OWN = ("sse", "ndjson", "text", "websocket", "connect", "grpc-web-connect", "grpc-web-google")
ARTICLE = ("article-fastapi", "article-starlette", "article-websocket")
TELLING = [wire for wire in OWN if wire != "text"]
"""Those that say more of a run than its text."""

each_wire = pytest.mark.parametrize("wire", OWN + ARTICLE)
END: tuple[Step, ...] = (finish("stop"), usage(9, 2), done())
HOSTILE = (
    "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'> None a: b data: x\n\n\n  event: end\n"
    '\u2028\u2029\u0085 {"type":"finished"} &amp; &lt; [x](javascript:window.ran=1) `<b>`\n'
    "<svg onload=window.ran=1>\t 😀 é"
)


@pytest.fixture
async def hands(page: Page, playground: Server) -> Hands:
    return Hands(page, playground.url)


async def ask(hands: Hands, wire: str, message: str = "hi") -> None:
    """The article's endpoints lead to ``chat``."""
    await hands.open("chat" if wire in ARTICLE else "say")
    await hands.wire(wire)
    await hands.write("message", message)
    await hands.press("Enter")


@each_wire
async def test_a_piece_is_shown_while_the_next_one_is_not_there_yet(
    hands: Hands, upstream: Provider, wire: str
) -> None:
    first, second = Gate(), Gate()
    upstream.script(head(), text("Hel"), first.wait(), text("lo, "), second.wait(), text("you"), *END)
    await ask(hands, wire)
    await hands.sees(".body", "Hel")
    assert (await hands.text(".body"), await hands.text(".state")) == ("Hel", "The answer is arriving …")
    first.open()
    await hands.sees(".body", "Hello,")
    second.open()
    await hands.sees(".state", "Complete")
    assert await hands.text(".body") == "Hello, you"


@pytest.fixture
async def local_hands(browser: Chromium, local_playground: Server) -> AsyncGenerator[Hands]:
    async with browser.page(f"{local_playground.url}/") as page:
        yield Hands(page, local_playground.url)
        assert page.complaints == []


@each_wire
async def test_the_local_models_answer_grows(local_hands: Hands, wire: str) -> None:
    await local_hands.open("chat")
    await local_hands.wire(wire)
    await local_hands.page.call("""() => {
      window.grown = []
      new MutationObserver(() => {
        const shown = document.querySelector(".body")?.textContent ?? ""
        if (shown !== (window.grown.at(-1)?.shown ?? "")) window.grown.push({ shown, at: performance.now() })
      }).observe(document.body, { subtree: true, childList: true, characterData: true })
    }""")
    await local_hands.write("message", "Tell me a story about a lamp.")
    await local_hands.settings({"max tokens": "40"})
    await local_hands.press("Enter")
    await local_hands.page.until("() => ['Complete', 'Failed'].includes(document.querySelector('.state')?.innerText)")
    assert await local_hands.text(".state") == "Complete"
    grown: list[dict[str, Any]] = await local_hands.page.call("() => window.grown")
    assert len(grown) >= 4
    assert len({each["at"] for each in grown}) == len(grown)


@each_wire
async def test_stop_stops_the_provider(hands: Hands, upstream: Provider, wire: str) -> None:
    upstream.script(head(), text("Hel"), silence())
    await ask(hands, wire)
    await hands.sees(".body", "Hel")
    exchange = await upstream.requested()
    await hands.press("Escape")
    await exchange.client_left(within=1.0)
    await hands.sees(".state", "Stopped")
    assert await hands.text(".body") == "Hel"


@each_wire
async def test_stop_stops_the_provider_before_the_first_piece(hands: Hands, upstream: Provider, wire: str) -> None:
    upstream.script(head(), role(), silence())
    await ask(hands, wire)
    exchange = await upstream.requested()
    await hands.click("Stop")
    await exchange.client_left(within=1.0)
    await hands.sees(".state", "Stopped")


@each_wire
async def test_a_failure_before_the_answer_is_shown_in_full(
    hands: Hands, playground: Server, upstream: Provider, wire: str
) -> None:
    upstream.script(error_reply(429, "slöw <b>down</b>", headers={"retry-after": "2"}))
    await ask(hands, wire)
    await hands.sees(".state", "Failed")
    [line] = playground.runs_logged()
    assert await hands.text(".failure .message") == line["message"]
    shown = await hands.text(".failure") or ""
    for words in ("upstream rate limited", "resource_exhausted", "Wait, or name a second model", "in 2 s"):
        assert words in shown
    assert (await hands.figures())["run id"] == line["run_id"]
    assert await hands.value("message") == "hi"


@each_wire
async def test_a_failure_within_the_answer_leaves_what_has_come(
    hands: Hands, playground: Server, upstream: Provider, wire: str
) -> None:
    gate = Gate()
    upstream.script(head(), text("Hel"), gate.wait(), error_event("slöw down", code="rate_limit_exceeded"))
    await ask(hands, wire)
    await hands.sees(".body", "Hel")
    gate.open()
    await hands.sees(".state", "Failed")
    [line] = playground.runs_logged()
    shown = await hands.text(".failure") or ""
    # Plain text has nothing but the cut to say it with.
    assert ("the connection failed" if wire == "text" else line["message"]) in shown
    assert "not the whole answer" in shown
    assert await hands.text(".body") == "Hel"


@pytest.mark.usefixtures("built_page")
async def test_a_server_that_is_gone_is_told_on_every_wire(
    browser: Chromium, scripted: dict[str, str], tmp_path: Path
) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(serving(tmp_path, scripted, APP))
        async with browser.page(f"{server.url}/") as page:
            hands = Hands(page, server.url)
            await hands.open("chat")
            stack.close()
            for number, wire in enumerate(OWN + ARTICLE, 1):
                await hands.wire(wire)
                await hands.write("message", "hi")
                await hands.press("Enter")
                failures = "(count) => [...document.querySelectorAll('.failure')].length === count"
                await page.until(failures, number)
                await hands.sees(".run", "Send")
                assert "is the server there" in (await hands.text(".failure") or "")


@each_wire
async def test_whatever_an_answer_holds_is_shown_as_it_is(hands: Hands, upstream: Provider, wire: str) -> None:
    half = len(HOSTILE) // 2
    upstream.script(head(), text(HOSTILE[:half]), text(HOSTILE[half:]), *END)
    await ask(hands, wire)
    await hands.sees(".state", "Complete")
    written = await hands.text(".markdown") or ""
    for words in (
        "<script>window.ran = 1</script>",
        "<img src=x onerror='window.ran = 1'>",
        "None a: b data: x",
        "&amp; &lt;",
    ):
        assert words in written
    inside = "() => document.querySelectorAll('.answer :is(script, img, svg, a, b)').length"
    assert await hands.page.call(inside) == 0
    await hands.click("As plain text")
    await hands.page.until("() => !!document.querySelector('.plain')")
    assert await hands.text(".plain") == HOSTILE
    assert (await hands.page.call(inside), await hands.page.call("() => window.ran ?? null")) == (0, None)


async def test_what_leads_out_of_the_page_is_a_link_and_nothing_else_is(hands: Hands, upstream: Provider) -> None:
    inner = "[a](javascript:window.ran=1) [b](data:text/html,b) [c](/v1/functions) [d](#say) [e](blob:x) ![f](f.png) "
    outer = "![g](https://example.org/g.png) [h](mailto:h@example.org) <https://example.org/>"
    upstream.script(head(), text(inner + outer), *END)
    await ask(hands, "sse")
    await hands.sees(".state", "Complete")
    links = "() => [...document.querySelectorAll('.markdown a')].map(({ href }) => href)"
    assert await hands.page.call(links) == [
        "https://example.org/g.png",
        "mailto:h@example.org",
        "https://example.org/",
    ]
    assert await hands.page.call("() => document.querySelectorAll('.answer img').length") == 0


async def test_markdown_becomes_elements(hands: Hands, upstream: Provider) -> None:
    listed = "# Head\n\n- one **two**\n- [out](https://example.org/)\n\n"
    more = "| a | b |\n|-|-|\n| 1 | `2` |\n\n```py\nprint(1 < 2)\n```\n"
    upstream.script(head(), text(listed + more), *END)
    await ask(hands, "sse")
    await hands.sees(".state", "Complete")
    found = await hands.page.call("""() => Object.fromEntries(["h3", "li strong", "a", "td code", "pre code"].map(
      (at) => [at, document.querySelector(`.markdown ${at}`)?.textContent]))""")
    assert found == {"h3": "Head", "li strong": "two", "a": "out", "td code": "2", "pre code": "print(1 < 2)"}
    link = await hands.page.call(
        "() => { const { target, rel } = document.querySelector('.markdown a'); return [target, rel] }"
    )
    assert link == ["_blank", "noopener noreferrer nofollow"]


@pytest.mark.parametrize("deep", [">" * 10_000 + " x", "> - " * 5_000 + "x", "- " * 20_000 + "x"])
async def test_what_lies_too_deep_to_be_drawn_is_shown_as_it_is(hands: Hands, upstream: Provider, deep: str) -> None:
    upstream.script(head(), text(deep[:7]), text(deep[7:]), *END)
    await ask(hands, "sse")
    await hands.sees(".state", "Complete")
    assert (await hands.text(".markdown") or "").endswith("x")
    await hands.click("As plain text")
    assert await hands.text(".plain") == deep


@pytest.mark.parametrize("wire", TELLING)
async def test_the_figures_of_a_run_are_told(hands: Hands, playground: Server, upstream: Provider, wire: str) -> None:
    upstream.script(head(), reasoning("Hm."), text("Hello"), finish("length"), usage(9, 2), done())
    await ask(hands, wire)
    await hands.sees(".state", "Complete")
    [line] = playground.runs_logged()
    told = await hands.figures()
    known = ("finish reason", "model", "tokens in", "tokens out", "attempts", "run id")
    assert [told[name] for name in known] == ["length", "scripted:m", "9", "2", "1", line["run_id"]]
    assert await hands.text(".reasoning div") == "Hm."
    assert not await hands.page.call("() => document.querySelector('.reasoning').open")
    assert await hands.text(".body") == "Hello"


async def test_a_typed_answer_fills_as_it_becomes_valid(hands: Hands, upstream: Provider) -> None:
    gate = Gate()
    value = {"items": [{"name": "lamp <b>", "count": 2}, {"name": "rope", "count": 1}], "paid": True}
    whole = json.dumps(value)
    cut = whole.index('pe"')
    upstream.script(head(), text(whole[:cut]), gate.wait(), text(whole[cut:]), *END)
    await hands.open("order")
    await hands.write("text", "two lamps and a rope")
    await hands.press("Enter")
    await hands.sees(".body", "lamp <b>")
    rows = """() => [...document.querySelectorAll(".body tr")].map(
      ({ children }) => [...children].map((cell) => cell.innerText))"""
    assert await hands.page.call(rows) == [["name", "count"], ["lamp <b>", "2"], ["ro", ""]]
    gate.open()
    await hands.sees(".state", "Complete")
    assert await hands.page.call(rows) == [["name", "count"], ["lamp <b>", "2"], ["rope", "1"]]
    await hands.click("As JSON")
    assert json.loads(await hands.text(".body code") or "") == value


@pytest.mark.parametrize("function", ["chat", "talk"])
async def test_a_conversation_remembers_what_was_said(hands: Hands, upstream: Provider, function: str) -> None:
    await hands.open(function)
    for said, answered in (("My name is Ada.", "Hello Ada."), ("What is my name?", "Ada.")):
        upstream.script(head(), text(answered), *END)
        await hands.write("message", said)
        await hands.press("Enter")
        await hands.page.until("(text) => [...document.querySelectorAll('.body')].at(-1)?.innerText === text", answered)
        await hands.sees(".run", "Send")
    messages = [(each["role"], each["content"]) for each in upstream.exchanges[-1].request.json["messages"]]
    assert messages == [("user", "My name is Ada."), ("assistant", "Hello Ada."), ("user", "What is my name?")]


async def test_a_new_conversation_stops_what_runs_and_remembers_nothing(hands: Hands, upstream: Provider) -> None:
    upstream.script(head(), text("Hel"), silence())
    await ask(hands, "article-websocket", "first")
    await hands.sees(".body", "Hel")
    exchange = await upstream.requested()
    await hands.click("New conversation")
    await exchange.client_left(within=1.0)
    upstream.script(head(), text("Hello"), *END)
    await hands.wire("sse")
    await hands.write("message", "second")
    await hands.press("Enter")
    await hands.sees(".state", "Complete")
    assert await hands.page.call("() => document.querySelectorAll('.turns li').length") == 1
    messages = [(each["role"], each["content"]) for each in upstream.exchanges[-1].request.json["messages"]]
    assert messages == [("user", "second")]
