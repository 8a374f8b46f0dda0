"""The functions of ``chat_app.py`` on a server, and OpenAI's own client for Python, unchanged but for its base URL."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
from openai import AsyncOpenAI

from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving


@pytest.fixture(scope="session")
def chat_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """With a short hold: early failures come as a status as long as nothing waits."""
    hurry = {"DELTAWIRE_HTTP__STATUS_HOLD": "0.3", "DELTAWIRE_HTTP__HEARTBEAT": "0.1"}
    app = Path(__file__).parent / "chat_app.py"
    with serving(tmp_path_factory.mktemp("chat"), {**environment, **hurry}, app) as server:
        yield server


@pytest.fixture
async def upstream(provider: Provider) -> Provider:
    """The provider of all tests, empty."""
    await provider.begin()
    return provider


@pytest.fixture
async def client(chat_server: Server) -> AsyncGenerator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{chat_server.url}/v1", api_key="any") as client:
        yield client


@pytest.fixture(scope="session")
def article_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """The functions of ``article_app.py``, with a short hold."""
    hurry = {"DELTAWIRE_HTTP__STATUS_HOLD": "0.3", "DELTAWIRE_HTTP__HEARTBEAT": "0.1"}
    few = {"DELTAWIRE_HTTP__MAX_RUNS_PER_SOCKET": "3"}
    app = Path(__file__).parent / "article_app.py"
    with serving(tmp_path_factory.mktemp("article"), {**environment, **hurry, **few}, app) as server:
        yield server
