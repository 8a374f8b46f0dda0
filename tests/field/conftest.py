"""The account of all failures at the end of a run of nothing but this room, and the functions that it serves."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from tests.field.account import Account
from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving
from tests.matrix.stage import Matrix, in_process

_ROOM = Path(__file__).parent
APP = _ROOM / "field_app.py"


def pytest_collection_finish(session: pytest.Session) -> None:
    if session.items and all(item.path.is_relative_to(_ROOM) for item in session.items):
        session.config.pluginmanager.register(_Accountant(), "field-accountant")


class _Accountant:
    def __init__(self) -> None:
        self._account = Account()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._account.note(report)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("failures met in the field")
        for line in self._account.lines():
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def field_environment(environment: dict[str, str], provider: Provider) -> dict[str, str]:
    """The settings of the matrix, and Azure with both forms of its URLs at the scripted upstream."""
    resource = {"KIND": "azure", "ENDPOINT": provider.base_url.removesuffix("/v1"), "API_KEY": "k", "KEEP_ALIVE": "0"}
    classic = {f"DELTAWIRE_PROVIDERS__AZURE__{name}": value for name, value in resource.items()}
    v1 = {f"DELTAWIRE_PROVIDERS__AZURE-V1__{name}": value for name, value in resource.items()}
    return {**environment, **classic, **v1, "DELTAWIRE_PROVIDERS__AZURE__API_VERSION": "2024-10-21"}


@pytest.fixture(scope="session")
def field_server(field_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with serving(tmp_path_factory.mktemp("field"), field_environment, APP) as server:
        yield server


@pytest.fixture
async def field(
    provider: Provider,
    field_server: Server,
    field_environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> AsyncGenerator[Matrix]:
    """What ``matrix`` is, with the functions of this room."""
    monkeypatch.chdir(tmp_path)
    for name, value in field_environment.items():
        monkeypatch.setenv(name, value)
    await provider.begin()
    field_server.log.new()
    core, records = in_process(APP)
    yield Matrix(provider, field_server, core, records)
    await core.close()
