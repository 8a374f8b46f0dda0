"""The server of the page's programs, and what runs them."""

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.clients.program import Toolchains
from tests.clients.shop import say
from tests.clients.stubs import python_stubs, typescript_stubs
from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving
from tests.node import Node

APP = Path(__file__).parents[2] / "examples" / "shop.py"


@pytest.fixture(scope="session")
def shop(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """What a reader has started with ``make serve``, on another port and with another model."""
    with serving(tmp_path_factory.mktemp("shop"), environment, app=APP) as server:
        yield server


@pytest.fixture
async def upstream(provider: Provider) -> Provider:
    """The provider of all tests, with what a shop's model says."""
    await provider.begin()
    provider.answer_with(say)
    return provider


@pytest.fixture
def toolchains(program: Callable[[str], str], request: pytest.FixtureRequest) -> Toolchains:
    def node() -> Node:
        return request.getfixturevalue("node_modules")

    return Toolchains(program, node)


@pytest.fixture(scope="session")
def python_stubs_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return python_stubs(tmp_path_factory.mktemp("python_stubs"))


@pytest.fixture(scope="session")
def typescript_stubs_made(node_modules: Node, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return typescript_stubs(tmp_path_factory.mktemp("typescript_stubs"), node_modules)
