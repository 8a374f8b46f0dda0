"""The built page, the servers that serve it, and pages of a browser that show it."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, Page
from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving

ROOT = Path(__file__).parents[2]
APP = Path(__file__).parent / "app.py"


@pytest.fixture(scope="session")
def scripted(environment: dict[str, str], provider: Provider) -> dict[str, str]:
    """The settings with which every function of ``app.py`` asks the provider of all tests, as a scripted model."""
    return {
        **environment,
        "DELTAWIRE_MODEL": "scripted:m",
        "DELTAWIRE_PROVIDERS__SCRIPTED__BASE_URL": provider.base_url,
        "DELTAWIRE_PROVIDERS__SCRIPTED__KEEP_ALIVE": "0",
    }


@pytest.fixture(scope="session")
def playground(
    built_page: Path,  # noqa: ARG001  (it is served)
    scripted: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Generator[Server]:
    """``deltawire serve`` with the functions of ``app.py``."""
    with serving(tmp_path_factory.mktemp("playground"), scripted, APP) as server:
        yield server


@pytest.fixture(scope="session")
def local_playground(
    built_page: Path,  # noqa: ARG001  (it is served)
    tmp_path_factory: pytest.TempPathFactory,
) -> Generator[Server]:
    """The same with ``examples/shop.py`` on the local model: what ``make serve`` is."""
    with serving(tmp_path_factory.mktemp("local"), {}, ROOT / "examples" / "shop.py") as server:
        yield server


@pytest.fixture
async def upstream(provider: Provider, playground: Server) -> Provider:
    """The provider of all tests, empty; nothing that went before is in the server's log."""
    await provider.begin()
    playground.log.new()
    return provider


@pytest.fixture
async def page(browser: Chromium, playground: Server) -> AsyncGenerator[Page]:
    """The playground, fresh, with nothing remembered. What it throws, or its policy forbids, fails the test."""
    async with browser.page(f"{playground.url}/") as page:
        yield page
        assert page.complaints == []
