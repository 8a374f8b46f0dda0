"""The page's tabs *Bytes* and *Code*: what went over the wire, and the program that makes the same call."""

from typing import Any

import pytest

from tests.browser.chromium import Page
from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.playground.hands import Hands
from tests.upstream import Gate, done, finish, head, text, usage

pytestmark = pytest.mark.anyio

MESSAGE = 'it\'s "$x" \\'
SENT_AND_LAST = {
    "sse": ("POST /v1/functions/chat HTTP/1.1", "event: finished"),
    "ndjson": ("accept: application/x-ndjson", '{"type":"finished"'),
    "text": ("accept: text/plain", "lo"),
    "websocket": ('"type":"run"', '{"type":"finished"'),
    "connect": ("content-type: application/connect+json", r"\x02"),
    "grpc-web-connect": ("content-type: application/grpc-web+proto", "grpc-status"),
    "grpc-web-google": ("Content-Type: application/grpc-web-text", "c3RhdHVzOiAwDQo"),
    "article-fastapi": ("POST /streaming/fastapi/ HTTP/1.1", "event: end"),
    "article-starlette": ("POST /streaming/starlette/ HTTP/1.1", "event: end"),
    "article-websocket": (MESSAGE, "event: end"),
}
PARTS = """() => [...document.querySelectorAll(".part")].map((part) => [
  part.classList.contains("sent") ? "sent" : "received",
  part.querySelector(".part-head").innerText,
  part.querySelector("pre").textContent,
])"""
HOLD_CLIPBOARD = "() => { navigator.clipboard.writeText = async (text) => { window.copied = text } }"


@pytest.fixture
async def hands(page: Page, playground: Server) -> Hands:
    return Hands(page, playground.url)


async def parts(hands: Hands) -> list[list[str]]:
    found: list[list[str]] = await hands.page.call(PARTS)
    return found


@pytest.mark.parametrize("wire", SENT_AND_LAST)
async def test_the_bytes_of_a_call_are_shown_as_they_come(hands: Hands, upstream: Provider, wire: str) -> None:
    gate = Gate()
    upstream.script(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), usage(9, 2), done())
    await hands.open("chat")
    await hands.wire(wire)
    await hands.write("message", MESSAGE)
    await hands.press("Enter")
    await hands.sees(".body", "Hel")
    await hands.click("Bytes")
    await hands.page.until("() => !!document.querySelector('.part.received')")
    before = await parts(hands)
    gate.open()
    await hands.page.until("(count) => document.querySelectorAll('.part').length > count", len(before))
    await hands.click("Answer")
    await hands.sees(".body", "Hello")
    await hands.page.until("() => document.querySelector('form .stop') === null")
    await hands.click("Bytes")
    seen = await parts(hands)
    sent, last = SENT_AND_LAST[wire]
    assert seen[: len(before)] == before
    assert sent in "".join(shown for direction, _, shown in seen if direction == "sent")
    assert last in seen[-1][2]
    assert [direction for direction, _, _ in (seen[0], seen[-1])] == ["sent", "received"]
    assert all(" ms" in about and " B" in about for _, about, _ in seen)


async def test_bytes_in_hexadecimal_digits(hands: Hands, upstream: Provider) -> None:
    upstream.script(head(), text("Hello"), finish("stop"), usage(9, 2), done())
    await hands.open("say")
    await hands.write("message", "hi")
    await hands.press("Enter")
    await hands.sees(".state", "Complete")
    await hands.click("Bytes")
    await hands.click("Hex")
    [_, _, shown], *_ = await parts(hands)
    assert shown.splitlines()[0] == "000000  50 4f 53 54 20 2f 76 31  2f 66 75 6e 63 74 69 6f  POST /v1/functio"


async def code(hands: Hands) -> dict[str, Any]:
    await hands.page.until("() => !!document.querySelector('.snippets pre')")
    return await hands.page.call("""() => ({
      language: document.querySelector(".snippets [aria-pressed=true]").innerText,
      text: document.querySelector(".snippets pre").textContent,
      note: document.querySelector(".snippets .note")?.innerText ?? null,
    })""")


async def test_the_code_is_that_of_the_call_on_screen(hands: Hands, playground: Server) -> None:
    await hands.open("say")
    await hands.write("message", MESSAGE)
    await hands.wire("ndjson")
    await hands.click("Code")
    first = await code(hands)
    assert (first["language"], first["note"]) == ("curl", None)
    assert first["text"] == (
        "curl --silent --show-error --fail-with-body --no-buffer \\\n"
        "  --header 'accept: application/x-ndjson' \\\n"
        """  --json '{"input":{"message":"it'\\''s \\"$x\\" \\\\"}}' \\\n"""
        f"  '{playground.url}/v1/functions/say'\n"
    )
    await hands.page.call(HOLD_CLIPBOARD)
    await hands.click("Copy the program")
    assert await hands.page.until("() => window.copied") == first["text"]


async def test_the_language_is_remembered_and_a_wire_that_it_lacks_is_told(hands: Hands) -> None:
    await hands.open("say")
    await hands.write("message", "hi")
    await hands.click("Code")
    await hands.click("Ruby")
    await hands.page.load("about:blank")
    await hands.open("say")
    await hands.wire("websocket")
    await hands.click("Code")
    second = await code(hands)
    assert second["language"] == "Ruby"
    assert second["note"].startswith("Ruby has no WebSocket of its own")


async def test_a_form_that_is_not_filled_in_is_no_call(hands: Hands) -> None:
    await hands.open("order")
    await hands.write("limit", "1000")
    await hands.click("Code")
    await hands.sees("[role=tabpanel]:not([hidden])", "Fill in the form")
