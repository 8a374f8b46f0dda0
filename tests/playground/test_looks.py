"""How the page looks: readable for everybody (axe-core finds nothing), small, and as the pictures in the docs show it.

``make pictures`` makes those of ``docs/playground/`` again.
"""

import base64
import gzip
import json
import os
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.browser.chromium import Page
from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.missing import leave_out
from tests.playground.hands import Hands
from tests.upstream import Step, delay, done, error_reply, finish, head, reasoning, text, usage

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = ROOT / "docs" / "playground"
MOST_BYTES = 250_000
MOST_BYTES_OF_A_PICTURE = 150_000

AXE_RUN = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] })
  const told = (id) => ({ html, failureSummary }) => [id, html, failureSummary]
  return violations.flatMap(({ id, nodes }) => nodes.map(told(id)))
}"""
ANSWER = """\
Yes, we have **two** kettles:

| kettle | price |
|---|---|
| red, 1.5 l | 29 € |
| steel, 2 l | 39 € |

Both whistle. To ask for them from a program:

```python
reply = httpx.post(url, json={"input": {"message": "Which kettles?"}})
```
"""
WORDS = [word + " " for word in ANSWER.split(" ")]
PACED = [step for word in WORDS for step in (delay(0.02), text(word))]
END: tuple[Step, ...] = (finish("stop"), usage(24, len(WORDS)), done())


class Screen(NamedTuple):
    width: int
    height: int


SCREENS = {"desktop": Screen(1200, 760), "phone": Screen(390, 844)}
SCHEMES = ("light", "dark")


@pytest.fixture
async def hands(page: Page, playground: Server) -> Hands:
    return Hands(page, playground.url)


async def show(page: Page, screen: str, scheme: str) -> None:
    width, height = SCREENS[screen]
    phone = screen == "phone"
    await page.command(
        "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone
    )
    await page.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])


async def ask(hands: Hands, function: str) -> None:
    await hands.open(function)
    await hands.write("message", "Which kettles do you have?")
    await hands.press("Enter")


async def empty(hands: Hands, upstream: Provider) -> None:  # noqa: ARG001
    await hands.open("order")


async def answered(hands: Hands, upstream: Provider) -> None:
    upstream.script(head(), reasoning("They want to know of kettles."), *PACED, *END)
    await ask(hands, "say")
    await hands.sees(".state", "Complete")


async def typed(hands: Hands, upstream: Provider) -> None:
    value = {"items": [{"name": "kettle", "count": 2}, {"name": "lamp", "count": 1}], "paid": True}
    upstream.script(head(), text(json.dumps(value)), *END)
    await hands.open("order")
    await hands.write("text", "Two kettles and a lamp, paid")
    await hands.press("Enter")
    await hands.sees(".state", "Complete")


async def wrong(hands: Hands, upstream: Provider) -> None:  # noqa: ARG001
    await hands.open("order")
    await hands.write("limit", "1000")
    await hands.click("Run")
    await hands.page.until("() => !!document.querySelector('[aria-invalid]')")


async def failed(hands: Hands, upstream: Provider) -> None:
    upstream.script(error_reply(429, "slow down", headers={"retry-after": "2"}))
    await ask(hands, "say")
    await hands.sees("main", "upstream rate limited")


async def chatted(hands: Hands, upstream: Provider) -> None:
    upstream.script(head(), *PACED, *END)
    await ask(hands, "chat")
    await hands.page.until("() => document.querySelector('.stop') === null && !!document.querySelector('.body table')")


async def bytes_shown(hands: Hands, upstream: Provider) -> None:
    await answered(hands, upstream)
    await hands.click("Bytes")
    await hands.sees(".raw", "received")


async def hex_shown(hands: Hands, upstream: Provider) -> None:
    await bytes_shown(hands, upstream)
    await hands.click("Hex")
    await hands.sees(".raw", "000010")


async def code_shown(hands: Hands, upstream: Provider) -> None:  # noqa: ARG001
    await hands.open("say")
    await hands.write("message", "Which kettles do you have?")
    await hands.wire("websocket")
    await hands.click("Code")
    await hands.click("PHP")
    await hands.sees(".snippets", "<?php")


async def raced(hands: Hands, upstream: Provider) -> None:
    upstream.always(head(), *PACED, *END)
    await hands.open("chat")
    await hands.write("message", "Which kettles do you have?")
    await hands.click("Race")
    await hands.click("Race 10 lanes")
    await hands.sees(".verdict", "All 10 answers are equal")


async def plotted(hands: Hands, upstream: Provider) -> None:
    await raced(hands, upstream)
    await hands.page.call("() => document.querySelector('.plots').scrollIntoView()")


View = Callable[[Hands, Provider], Awaitable[None]]
VIEWS: dict[str, View] = {
    "empty": empty,
    "answer": answered,
    "typed": typed,
    "wrong": wrong,
    "failed": failed,
    "chat": chatted,
    "bytes": bytes_shown,
    "hex": hex_shown,
    "code": code_shown,
    "race": raced,
    "plots": plotted,
}


@pytest.mark.parametrize("view", VIEWS)
async def test_axe_finds_nothing(hands: Hands, upstream: Provider, view: str) -> None:
    if not AXE.is_file():
        leave_out("axe-core", "web/node_modules has no axe-core: npm's packages are not installed")
    await VIEWS[view](hands, upstream)
    await hands.page.command("Runtime.evaluate", expression=AXE.read_text())
    for screen in SCREENS:
        for scheme in SCHEMES:
            await show(hands.page, screen, scheme)
            found: list[list[Any]] = await hands.page.call(AXE_RUN)
            assert found == [], (screen, scheme)


@pytest.mark.parametrize("view", VIEWS)
async def test_nothing_is_wider_than_a_phone(hands: Hands, upstream: Provider, view: str) -> None:
    await show(hands.page, "phone", "light")
    await VIEWS[view](hands, upstream)
    width = await hands.page.call("() => document.documentElement.scrollWidth")
    assert width == SCREENS["phone"].width


def test_the_built_page_is_small(built_page: Path) -> None:
    files = [file for file in built_page.rglob("*") if file.suffix in {".html", ".js", ".css", ".svg", ".json"}]
    assert {file.suffix for file in files} >= {".html", ".js", ".css"}
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) < MOST_BYTES


SHOWN = [
    *((screen, scheme, "chat") for screen in SCREENS for scheme in SCHEMES),
    ("desktop", "light", "race"),
    ("desktop", "dark", "plots"),
    ("phone", "light", "plots"),
    ("desktop", "light", "bytes"),
    ("desktop", "dark", "code"),
]


each_picture = pytest.mark.parametrize(("screen", "scheme", "view"), SHOWN)


def name_of(screen: str, scheme: str, view: str) -> str:
    return f"{view}-{screen}-{scheme}.png"


def is_small(picture: bytes, screen: str) -> bool:
    return struct.unpack(">II", picture[16:24]) == SCREENS[screen] and len(picture) < MOST_BYTES_OF_A_PICTURE


@each_picture
async def test_a_picture_is_made(
    hands: Hands, upstream: Provider, tmp_path: Path, screen: str, scheme: str, view: str
) -> None:
    await show(hands.page, screen, scheme)
    await VIEWS[view](hands, upstream)
    taken = base64.b64decode((await hands.page.command("Page.captureScreenshot", format="png"))["data"])
    folder = PICTURES if os.environ.get("DELTAWIRE_TEST_PICTURES") == "1" else tmp_path
    folder.mkdir(exist_ok=True)
    (folder / name_of(screen, scheme, view)).write_bytes(taken)
    assert is_small(taken, screen)


@each_picture
def test_a_picture_is_in_the_docs(screen: str, scheme: str, view: str) -> None:
    assert is_small((PICTURES / name_of(screen, scheme, view)).read_bytes(), screen)


def test_no_picture_is_in_the_docs_that_is_not_made() -> None:
    assert {file.name for file in PICTURES.iterdir()} == {name_of(*shown) for shown in SHOWN}
