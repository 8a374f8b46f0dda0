"""A headless Chromium, driven over its debugging protocol (CDP): pages to open, to ask and to close."""

import asyncio
import itertools
import json
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

_FLAGS = [
    "--headless",
    "--no-sandbox",  # root has none
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-proxy-server",
    "--remote-debugging-port=0",
]
_UNTIL = """(...given) => new Promise((resolve, reject) => {
  const look = () => {
    try {
      const found = (%s)(...given)
      found ? resolve(found) : setTimeout(look, 5)
    } catch (error) {
      reject(error)
    }
  }
  look()
})"""
Parameters = dict[str, Any]


class Chromium:
    """One browser. Commands may be under way at once; their replies come by number."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Parameters]] = {}
        self._loaded: dict[str, asyncio.Event] = {}
        self._complaints: dict[str, list[str]] = {}

    async def read(self) -> None:
        """Hand out what the browser says, until it says no more."""
        async for message in self._connection:
            said: Parameters = json.loads(message)
            if (number := said.get("id")) in self._waiting:
                self._waiting.pop(number).set_result(said)
            elif said.get("method") == "Page.loadEventFired":
                self._loaded[said["sessionId"]].set()
            elif complaint := _complaint(said):
                self._complaints[said["sessionId"]].append(complaint)

    async def command(self, method: str, *, session: str | None = None, **parameters: object) -> Parameters:
        number = next(self._numbers)
        reply = self._waiting[number] = asyncio.get_running_loop().create_future()
        about = {} if session is None else {"sessionId": session}
        await self._connection.send(json.dumps({"id": number, "method": method, "params": parameters, **about}))
        async with asyncio.timeout(20):
            said = await reply
        assert "error" not in said, f"{method}: {said['error']}"
        return said["result"]

    @asynccontextmanager
    async def page(self, url: str) -> AsyncGenerator["Page"]:
        """A tab with a storage of its own."""
        context = (await self.command("Target.createBrowserContext"))["browserContextId"]
        target = (await self.command("Target.createTarget", url="about:blank", browserContextId=context))["targetId"]
        session = (await self.command("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        self._complaints[session] = []
        page = Page(self, target, session, self._complaints[session])
        try:
            for domain in ("Page", "Runtime", "Log"):
                await page.command(f"{domain}.enable")
            await self.load(session, url)
            yield page
        finally:
            await page.close()
            await self.command("Target.disposeBrowserContext", browserContextId=context)

    async def load(self, session: str, url: str) -> None:
        self._loaded[session] = asyncio.Event()
        await self.command("Page.navigate", session=session, url=url)
        async with asyncio.timeout(20):
            await self._loaded[session].wait()


class Page:
    """One tab."""

    def __init__(self, browser: Chromium, target: str, session: str, complaints: list[str]) -> None:
        self.complaints = complaints
        """What its console shows in red, but for replies of 400 and more: exceptions, and what its policy forbids."""
        self._browser = browser
        self._target = target
        self._session = session
        self._closed = False

    async def call(self, function: str, *arguments: object) -> Any:
        """What a function of the page, or one written here, returns, or its promise brings. Raises ``AssertionError``
        with what it throws."""
        expression = f"({function})({', '.join(json.dumps(argument) for argument in arguments)})"
        how = {"awaitPromise": True, "returnByValue": True, "allowUnsafeEvalBlockedByCSP": False}
        said = await self.command("Runtime.evaluate", expression=expression, **how)
        assert "exceptionDetails" not in said, f"{expression}: {said['exceptionDetails']}"
        return said["result"].get("value")

    async def until(self, function: str, *arguments: object) -> Any:
        """What the function returns, once that is something: it is asked again and again."""
        return await self.call(_UNTIL % function, *arguments)

    async def command(self, method: str, **parameters: object) -> Parameters:
        """What the debugging protocol has for a page: ``Emulation.…``, ``Input.…``, ``Page.captureScreenshot``."""
        return await self._browser.command(method, session=self._session, **parameters)

    async def load(self, url: str) -> None:
        """Another page in its place, with the same storage."""
        await self._browser.load(self._session, url)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._browser.command("Target.closeTarget", targetId=self._target)


def _complaint(said: Parameters) -> str | None:
    match said:
        case {"method": "Runtime.exceptionThrown", "params": {"exceptionDetails": details}}:
            return str(details.get("exception", {}).get("description", details["text"]))
        case {"method": "Runtime.consoleAPICalled", "params": {"type": "error", "args": arguments}}:
            return " ".join(str(each.get("value", each.get("description"))) for each in arguments)
        case {"method": "Log.entryAdded", "params": {"entry": {"level": "error", "source": source, "text": text}}}:
            return None if source == "network" else str(text)
        case _:
            return None


@asynccontextmanager
async def chromium(program: str, folder: Path) -> AsyncGenerator[Chromium]:
    """The browser, with a profile of its own in the folder; ends with the ``with``."""
    process = _start(program, folder)
    try:
        address = await _debugging_address(process, folder)
        async with connect(address, max_size=None, proxy=None) as connection:
            browser = Chromium(connection)
            reading = asyncio.create_task(browser.read())
            yield browser
            with suppress(Exception):  # it may be gone before it has said that it goes
                await browser.command("Browser.close")
            reading.cancel()
    finally:
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
        process.kill()
        process.wait()


def _start(program: str, folder: Path) -> "subprocess.Popen[bytes]":
    command = [program, *_FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
    with (folder / "chromium.log").open("wb") as output:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)


async def _debugging_address(process: "subprocess.Popen[bytes]", folder: Path) -> str:
    async with asyncio.timeout(30):
        while process.poll() is None:
            if (lines := _lines(folder / "profile" / "DevToolsActivePort"))[1:]:
                return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
            await asyncio.sleep(0.05)
    raise AssertionError("\n".join(["Chromium did not come up:", *_lines(folder / "chromium.log")]))


def _lines(file: Path) -> list[str]:
    return file.read_text(errors="replace").splitlines() if file.is_file() else []
