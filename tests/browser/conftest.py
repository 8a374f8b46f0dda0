"""One page's bundle, one server and one Envoy for all tests of this folder."""

from collections.abc import AsyncGenerator, Generator

import pytest

from tests.browser.chromium import Chromium, Page
from tests.browser.envoy import Envoy, envoy
from tests.browser.site import bundle, static_site
from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving
from tests.node import Node


@pytest.fixture(scope="session")
async def origin(node_modules: Node, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[str]:
    """Where the page is, which is not where the server is."""
    with static_site(await bundle(node_modules, tmp_path_factory.mktemp("site"))) as origin:
        yield origin


@pytest.fixture(scope="session")
def open_server(
    environment: dict[str, str], origin: str, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Server]:
    """A server that lets the page call."""
    allowed = {"DELTAWIRE_HTTP__ALLOWED_ORIGINS": origin}
    with serving(tmp_path_factory.mktemp("open"), {**environment, **allowed}) as server:
        yield server


@pytest.fixture(scope="session")
def proxy(open_server: Server, origin: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[Envoy]:
    """Envoy in front of that server."""
    with envoy(tmp_path_factory.mktemp("envoy"), open_server.grpc_port, origin) as proxy:
        yield proxy


@pytest.fixture
async def page(browser: Chromium, origin: str) -> AsyncGenerator[Page]:
    """The page, fresh."""
    async with browser.page(origin) as page:
        yield page


@pytest.fixture
async def upstream(provider: Provider, open_server: Server) -> Provider:
    """The provider of all tests, empty; nothing that went before is in the server's log."""
    await provider.begin()
    open_server.log.new()
    return provider
