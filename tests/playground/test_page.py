"""The page as it is served: it opens, it asks nobody else, and what its policy forbids does not happen."""

import pytest

from tests.browser.chromium import Chromium, Page
from tests.matrix.server import Server

pytestmark = pytest.mark.anyio

SHOWS = "(text) => document.body.innerText.includes(text)"
FORBIDDEN = {
    "an inline script": """() => {
        const script = document.createElement("script")
        script.textContent = "window.ran = true"
        document.body.append(script)
    }""",
    "a handler in markup": """() => {
        document.body.setAttribute("onclick", "window.ran = true")
        document.body.click()
    }""",
    "text as code": "() => { window.ran = eval('true') }",
    "text as markup": """() => {
        document.body.insertAdjacentHTML("beforeend", "<img src=x onerror=\'window.ran = true\'>")
    }""",
    "a policy for markup": "() => { trustedTypes.createPolicy('own', { createHTML: (text) => text }) }",
    "another host": "async () => { await fetch('http://127.0.0.2:9/'); window.ran = true }",
    "a socket to another host": """() => new Promise((resolve, reject) => {
        const socket = new WebSocket("ws://127.0.0.2:9/")
        socket.onerror = reject
        socket.onopen = () => resolve(window.ran = true)
    })""",
}


async def test_the_page_lists_what_the_server_has(page: Page) -> None:
    for name in ("chat", "say", "order"):
        await page.until(SHOWS, name)


async def test_it_asks_nobody_but_its_server(page: Page, playground: Server) -> None:
    await page.until(SHOWS, "order")
    asked = await page.call("() => performance.getEntriesByType('resource').map(({ name }) => name)")
    assert len(asked) >= 3
    assert [url for url in asked if not url.startswith(f"{playground.url}/")] == []


@pytest.mark.parametrize("what", FORBIDDEN)
async def test_its_policy_forbids(what: str, browser: Chromium, playground: Server) -> None:
    async with browser.page(f"{playground.url}/") as page:
        tried = f"async () => {{ try {{ await ({FORBIDDEN[what]})() }} catch (error) {{ return String(error) }} }}"
        await page.call("() => { addEventListener('securitypolicyviolation', () => { window.forbidden = true }) }")
        await page.call(tried)
        assert await page.until("() => window.forbidden")
        assert not await page.call("() => window.ran")


async def test_its_policy_lets_it_open_the_servers_own_sockets(page: Page) -> None:
    protocol = await page.call("""() => new Promise((resolve, reject) => {
        const socket = new WebSocket(new URL("v1/ws", document.baseURI), "deltawire.v1")
        socket.onopen = () => { resolve(socket.protocol); socket.close() }
        socket.onerror = reject
    })""")
    assert protocol == "deltawire.v1"
