"""The account of all failures at the end of a run of nothing but this room."""

from pathlib import Path

import pytest

from tests.field.account import Account

_ROOM = Path(__file__).parent


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
