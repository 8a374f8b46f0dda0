"""The form of a function: made from its schema, checked beside its fields, remembered, worked with keys and files."""

from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, Page
from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving
from tests.playground.hands import Hands
from tests.upstream import answer

pytestmark = pytest.mark.anyio

WRONG = "() => [...document.querySelectorAll('.wrong')].map(({ innerText }) => innerText)"


@pytest.fixture
async def hands(page: Page, playground: Server) -> Hands:
    return Hands(page, playground.url)


def prompts(upstream: Provider) -> list[str]:
    return [exchange.request.json["messages"][-1]["content"] for exchange in upstream.exchanges]


async def test_every_kind_of_field_goes_into_the_call(hands: Hands, upstream: Provider) -> None:
    upstream.always(answer('{"items":[],"paid":false}'))
    await hands.open("order")
    await hands.write("text", 'a "lamp"\n')
    await hands.choose("size", '"large"')
    await hands.write("limit", "7")
    await hands.write("ratio", "-0.25")
    await hands.tick("urgent")
    for number, tag in enumerate(("one", "two"), 1):
        await hands.click("Add to tags")
        await hands.write(f"tags {number}", tag)
    await hands.click("Give example")
    await hands.write("name", "rope")
    await hands.run()
    await hands.sees(".state", "Complete")
    [prompt] = prompts(upstream)
    assert prompt == "a \"lamp\"\n large 7 -0.25 True ['one', 'two'] name='rope' count=1"


@pytest.mark.usefixtures("built_page")
async def test_types_that_hold_themselves_have_a_form(
    browser: Chromium, scripted: dict[str, str], provider: Provider, tmp_path: Path
) -> None:
    await provider.begin()
    provider.always(answer("done"))
    with serving(tmp_path, scripted, Path(__file__).with_name("recursive_app.py")) as server:
        async with browser.page(f"{server.url}/") as page:
            hands = Hands(page, server.url)
            await hands.open("walk")
            await hands.write("name", "first")
            await hands.run()
            await hands.sees(".state", "Complete")
            await hands.open("compute")
            await hands.write("value", "7")
            await hands.run()
            await hands.sees(".state", "Complete")
            assert page.complaints == []
    assert prompts(provider) == ["Step(name='first', next=None)", "Number(value=7)"]


async def test_what_is_not_given_is_left_to_the_function(hands: Hands, upstream: Provider) -> None:
    upstream.always(answer('{"items":[],"paid":false}'))
    await hands.open("order")
    await hands.write("text", "x")
    await hands.run()
    await hands.sees(".state", "Complete")
    assert prompts(upstream) == ["x small 3 0.5 False [] None"]


async def test_what_is_wrong_is_said_beside_its_field_and_not_sent(hands: Hands, upstream: Provider) -> None:
    await hands.open("order")
    await hands.write("limit", "12")
    await hands.write("ratio", "half")
    await hands.click("Give example")
    await hands.run()
    await hands.page.until("() => document.querySelector('.wrong') !== null")
    assert await hands.page.call(WRONG) == ["Needed", "At most 9", "A number, as in 0.5", "Needed"]
    described = await hands.page.call("() => document.activeElement.getAttribute('aria-describedby').split(' ').at(-1)")
    assert await hands.page.call("(id) => document.getElementById(id).innerText", described) == "Needed"
    assert await hands.page.call("() => document.activeElement.getAttribute('aria-invalid')") == "true"
    assert upstream.exchanges == []


async def test_what_only_the_server_finds_wrong_is_said_there_too(hands: Hands, upstream: Provider) -> None:
    await hands.open("spell")
    await hands.write("word", "Rope")
    await hands.press("Enter")
    await hands.sees(".state", "Failed")
    assert await hands.page.until(f"() => ({WRONG})()[0]") == "Value error, must be in small letters"
    await hands.write("word", "rope")
    assert await hands.page.call(WRONG) == []
    assert upstream.exchanges == []


async def test_the_last_inputs_are_there_when_the_page_is_opened_again(hands: Hands, upstream: Provider) -> None:
    await hands.open("say")
    await hands.write("message", "<b>remembered</b>")
    await hands.wire("ndjson")
    await hands.page.load("about:blank")
    await hands.open("say")
    assert await hands.value("message") == "<b>remembered</b>"
    assert await hands.page.call("() => document.querySelector('.wires :checked').value") == "ndjson"
    assert upstream.exchanges == []


async def test_enter_runs_and_shift_enter_makes_a_line(hands: Hands, upstream: Provider) -> None:
    upstream.always(answer("Hello"))
    await hands.open("say")
    await hands.write("message", "a")
    await hands.press("Enter", shift=True)
    await hands.page.command("Input.insertText", text="b")
    await hands.press("Enter")
    await hands.sees(".state", "Complete")
    assert prompts(upstream) == ["a\nb"]


DROP = """(content, name) => {
  const data = new DataTransfer()
  data.items.add(new File([new Uint8Array(content)], name))
  const event = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })
  document.querySelector("form textarea").dispatchEvent(event)
}"""


async def test_a_file_that_is_dropped_into_a_text_is_its_text(hands: Hands, upstream: Provider) -> None:
    await hands.open("say")
    text = "größe\u2028 <script>\n"
    await hands.page.call(DROP, list(text.encode()), "a.txt")
    await hands.page.until("(text) => document.querySelector('form textarea').value === text", text)
    await hands.page.call(DROP, [0xFF, 0xFE, 0xFD], "b.bin")
    await hands.page.until("() => document.querySelector('.wrong') !== null")
    assert await hands.page.call(WRONG) == ["b.bin is not text in UTF-8"]
    assert await hands.value("message") == text
    assert upstream.exchanges == []


async def test_a_file_that_is_too_large_is_not_taken(hands: Hands, upstream: Provider) -> None:
    await hands.open("say")
    await hands.page.call(DROP, 4_000_001, "c.log")  # so many NULs
    await hands.page.until("() => document.querySelector('.wrong') !== null")
    assert await hands.page.call(WRONG) == ["c.log is larger than 4 MB"]
    assert await hands.value("message") == ""
    assert upstream.exchanges == []


async def test_settings_go_with_the_call(hands: Hands, upstream: Provider) -> None:
    upstream.always(answer("Hello"))
    await hands.open("say")
    await hands.write("message", "hi")
    await hands.settings({"max tokens": "5", "temperature": "0.5", "seed": "-7"})
    await hands.press("Enter")
    await hands.sees(".state", "Complete")
    [exchange] = upstream.exchanges
    sent = exchange.request.json
    assert (sent.get("max_completion_tokens", sent.get("max_tokens")), sent["temperature"], sent["seed"]) == (
        5,
        0.5,
        -7,
    )


async def test_the_search_finds_by_name_and_description(hands: Hands, upstream: Provider) -> None:
    await hands.open("say")
    for words, found in (("order text", ["order"]), ("SPELL", ["spell"]), ("nothing", [])):
        await hands.page.call(
            "() => { const field = document.querySelector('[type=search]'); field.focus(); field.select() }"
        )
        await hands.page.command("Input.insertText", text=words)
        names = "() => [...document.querySelectorAll('.functions li b')].map(({ innerText }) => innerText)"
        await hands.page.until(f"(names) => JSON.stringify(({names})()) === JSON.stringify(names)", found)
    assert upstream.exchanges == []


async def test_the_colours_are_the_systems_until_others_are_chosen(hands: Hands, upstream: Provider) -> None:
    ground = "() => getComputedStyle(document.documentElement).backgroundColor"
    await hands.open("say")
    light, dark = "rgb(246, 247, 249)", "rgb(15, 18, 22)"
    await hands.page.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert await hands.page.call(ground) == dark
    await hands.click("Colours: system")
    await hands.page.until(f"(ground) => ({ground})() === ground", light)
    await hands.page.load("about:blank")
    await hands.open("say")
    assert await hands.page.call(ground) == light
    assert upstream.exchanges == []
