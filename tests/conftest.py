"""What all tests share: the event loop, the served matrix, and what becomes of programs that are not installed."""

import shutil
import signal
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, chromium
from tests.generators import generators as generators  # a fixture
from tests.matrix.provider import Provider
from tests.matrix.server import APP, Server, serving
from tests.matrix.stage import Matrix, in_process
from tests.missing import MISSING, leave_out
from tests.node import node_modules as node_modules  # a fixture
from tests.playground.built import built_page as built_page  # a fixture
from tests.upstream import never_accepting_port, refused_port

pytest_plugins = ["tests.left_open"]  # of its own, as a conftest hears nothing of the fixtures of the session


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
async def provider() -> AsyncGenerator[Provider]:
    """The scripted upstream that the servers of the matrix ask."""
    async with Provider() as provider:
        yield provider


@pytest.fixture(scope="session")
def environment(provider: Provider) -> Generator[dict[str, str]]:
    """The settings of the matrix, as variables."""
    with refused_port() as refused, never_accepting_port() as deaf:
        yield {
            "DELTAWIRE_MODEL": "openai:m",
            "OPENAI_API_KEY": "the-provider-key",
            "OPENAI_BASE_URL": provider.base_url,
            "DELTAWIRE_PROVIDERS__OPENAI__KEEP_ALIVE": "0",  # what a call meets must not depend on the one before it
            "DELTAWIRE_BREAKER__FAILURES": "0",  # likewise
            "DELTAWIRE_PROVIDERS__REFUSED__BASE_URL": f"http://127.0.0.1:{refused}/v1",
            "DELTAWIRE_PROVIDERS__DEAF__BASE_URL": f"http://127.0.0.1:{deaf}/v1",
        }


@pytest.fixture(scope="session")
def server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """``deltawire serve`` with its usual settings."""
    with serving(tmp_path_factory.mktemp("server"), environment) as server:
        yield server


@pytest.fixture(scope="session")
def hurried_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """The same with a short hold, quick heartbeats, and little time for a body."""
    hurry = {
        "DELTAWIRE_HTTP__STATUS_HOLD": "0.05",
        "DELTAWIRE_HTTP__HEARTBEAT": "0.5",
        "DELTAWIRE_HTTP__BODY_TIMEOUT": "0.4",
        "DELTAWIRE_GRPC__STATUS_HOLD": "0.05",
    }
    with serving(tmp_path_factory.mktemp("hurried"), {**environment, **hurry}) as server:
        yield server


@pytest.fixture(scope="session")
def narrow_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """The same with a place for one run."""
    with serving(tmp_path_factory.mktemp("narrow"), {**environment, "DELTAWIRE_MAX_RUNS": "1"}) as server:
        yield server


@pytest.fixture(scope="session")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Chromium]:
    """One for all tests; each page has a storage of its own."""
    program = shutil.which("chromium") or leave_out("chromium", "the program 'chromium' is not installed")
    async with chromium(program, tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


BREAKS_AT_ONCE = {"DELTAWIRE_BREAKER__FAILURES": "1", "DELTAWIRE_BREAKER__PAUSE": "600"}


@pytest.fixture(scope="session")
def wary_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """The same, where one failure is enough to leave a model alone for the rest of the session."""
    with serving(tmp_path_factory.mktemp("wary"), {**environment, **BREAKS_AT_ONCE}) as server:
        yield server


@pytest.fixture
async def matrix(
    provider: Provider, server: Server, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> AsyncGenerator[Matrix]:
    """Everything that a cell is played with: the provider, the server, and the engine in this process."""
    monkeypatch.chdir(tmp_path)  # no deltawire.toml is here
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    await provider.begin()
    server.log.new()
    core, records = in_process(APP)
    yield Matrix(provider, server, core, records)
    await core.close()


@pytest.fixture
def program() -> Callable[[str], str]:
    """The path of a program that the machine may lack. The test that asks for a missing one is left out, and named at
    the end of the run; with ``DELTAWIRE_TEST_REQUIRE_ALL=1`` it fails."""

    def find(name: str) -> str:
        return shutil.which(name) or leave_out(name, f"the program '{name}' is not installed")

    return find


def pytest_configure() -> None:
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # as a shell's background jobs have it, and all that they start
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MISSING:
        terminalreporter.write_line(f"Left out for want of programs: {', '.join(sorted(MISSING))}", yellow=True)
