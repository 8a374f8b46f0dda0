"""The page's TypeScript in a browser: Google's client, and what Node runs too, where it says what a page needs."""

import itertools
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from deltawire.domain.errors import Code
from deltawire.transports.status import GRPC_STATUS
from tests.browser.chromium import Chromium, Page
from tests.browser.site import static_site
from tests.clients.page import PROGRAMS, program
from tests.clients.shop import ANSWER, cutting
from tests.matrix.provider import Provider
from tests.matrix.server import serving
from tests.node import Node

pytestmark = pytest.mark.anyio

APP = Path(__file__).parents[2] / "examples" / "shop.py"
NAMES = [name for name in PROGRAMS if name.endswith(".ts")]
TSC = "--strict --target es2022 --module nodenext --allowImportingTsExtensions --skipLibCheck --noEmit"
LIBRARIES = "esnext,dom,dom.iterable,dom.asynciterable"
NODE = """\
declare const process: { once(signal: string, listener: () => void): void; stdout: { write(text: string): void } }
"""
HTML = """\
<!doctype html><meta charset="utf-8"><title>A client</title><pre></pre><script>
const text = document.querySelector("pre"), said = []
document.body.append = (piece) => text.append(piece)
window.process = { once: (_, stop) => { window.leave = stop }, stdout: { write: document.body.append } }
window.leave = () => window.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }))
console.log = console.error = (line) => said.push(line)
window.onunhandledrejection = ({ reason }) => said.push(String(reason))
window.onerror = (_, __, ___, ____, error) => said.push(String(error))
const until = (found) => new Promise((resolve) => {
  const look = () => { const it = found(); it ? resolve(it) : setTimeout(look, 5) }
  look()
})
window.shown = (piece) => until(() => text.textContent.includes(piece))
window.told = () => until(() => said.join(" "))
window.over = async () => {
  const called = ({ initiatorType }) => ["fetch", "xmlhttprequest"].includes(initiatorType)
  await until(() => performance.getEntriesByType("resource").some(called))
  await new Promise((resolve) => setTimeout(resolve, 50)) // for what the program does at the end
  return said.join(" ")
}
window.printed = () => text.textContent
</script><script type="module" src="FILE"></script>"""


CUT = {
    "sse.ts": "the stream was cut",
    "connect.ts": "missing EndStreamResponse",
    "grpc_web.ts": "the stream was cut",
}


def in_a_page(name: str, port: int, message: str) -> str:
    """The program, with what its comments say of pages."""
    code = program(name, port, message.removesuffix("_cut"))
    return code.replace("connect-node", "connect-web").replace(', httpVersion: "1.1"', "")


@dataclass(frozen=True, slots=True)
class Site:
    """One page for each program and message, on an origin of its own that the server allows."""

    browser: Chromium
    origin: str

    @asynccontextmanager
    async def page(self, name: str, message: str) -> AsyncGenerator[Page]:
        async with self.browser.page(f"{self.origin}/{message}_{name}.html") as page:
            yield page


@pytest.fixture(scope="module")
async def site(
    browser: Chromium,
    node_modules: Node,
    typescript_stubs_made: Path,
    environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncGenerator[Site]:
    source, served, folder = (tmp_path_factory.mktemp(name) for name in ("source", "served", "server"))
    node_modules.link(source)
    (source / "gen").symlink_to(typescript_stubs_made)
    async with AsyncExitStack() as stack:
        origin = stack.enter_context(static_site(served))
        allowed = {**environment, "DELTAWIRE_HTTP__ALLOWED_ORIGINS": origin}
        server = stack.enter_context(serving(folder, allowed, app=APP))
        cut = await stack.enter_async_context(cutting(server.port))
        ports = {"whole": server.port, "early": server.port, "late": server.port, "slow": server.port, "slow_cut": cut}
        each = itertools.product(NAMES, ports.items())
        files = [(f"{message}_{name}", in_a_page(name, port, message)) for name, (message, port) in each]
        for file, code in files:
            (source / file).write_text(code)
            (served / f"{file}.html").write_text(HTML.replace("FILE", file.removesuffix(".ts") + ".js"))
        flags = ("--bundle", "--format=esm", "--log-level=warning", f"--outdir={served}")
        esbuild = node_modules.package("esbuild/bin/esbuild")
        await node_modules.run(esbuild, *(file for file, _ in files), *flags, folder=source)
        yield Site(browser, origin)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("upstream")
async def test_a_page_shows_the_answer_exactly(name: str, site: Site) -> None:
    async with site.page(name, "whole") as page:
        await page.call("shown", ANSWER[-8:])
        assert await page.call("printed") == ANSWER
        assert await page.call("over") == ""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("upstream")
async def test_a_page_tells_what_failed(name: str, site: Site) -> None:
    for message, code, reason, begun in (
        ("early", "invalid_argument", "upstream_rejected", ""),
        ("late", "unavailable", "upstream_error", "Hel"),
    ):
        async with site.page(name, message) as page:
            assert f"{spelled(name, code)} {reason}: " in await page.call("told")
            assert await page.call("printed") == begun


def spelled(name: str, code: str) -> str:
    match name:
        case "connect.ts":
            return code.title().replace("_", "")
        case "grpc_web.ts":
            return str(GRPC_STATUS[Code(code)])
        case _:
            return code


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("upstream")
async def test_a_page_does_not_take_a_part_for_the_whole(name: str, site: Site) -> None:
    async with site.page(name, "slow_cut") as page:
        assert CUT[name] in await page.call("told")


@pytest.mark.parametrize("name", NAMES)
async def test_a_page_shows_each_piece_at_once_and_can_leave(name: str, site: Site, upstream: Provider) -> None:
    async with site.page(name, "slow") as page:
        await page.call("shown", "Hel")
        [exchange] = upstream.exchanges
        await page.call("leave")
        await exchange.client_left()


async def test_the_programs_in_typescript_pass_the_compiler(
    node_modules: Node, typescript_stubs_made: Path, tmp_path: Path
) -> None:
    node_modules.link(tmp_path)
    (tmp_path / "gen").symlink_to(typescript_stubs_made)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node.d.ts").write_text(NODE)
    for name in NAMES:
        (tmp_path / name).write_text(PROGRAMS[name])
    tsc = node_modules.package("typescript/lib/tsc.js")
    await node_modules.run(tsc, *TSC.split(), "--lib", LIBRARIES, "node.d.ts", *NAMES, folder=tmp_path)
