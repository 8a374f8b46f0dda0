"""A line for each failure of the list: whether its tests passed, and how many there were."""

import re
from collections import Counter
from dataclasses import dataclass, field

import pytest

from tests.field.rows import ROWS

_ROW = re.compile(r"::test_([a-z]{2})_(\d\d)_|\[([A-Z]{2}-\d\d)\]$")


@dataclass(slots=True)
class Account:
    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: {row: Counter() for row in ROWS})

    def note(self, report: pytest.TestReport) -> None:
        """What one step of a test has come to."""
        match = _ROW.search(report.nodeid)
        if match is None or (report.when != "call" and report.passed):
            return
        row = match[3] or f"{match[1].upper()}-{match[2]}"
        outcome = "deferred" if hasattr(report, "wasxfail") else report.outcome
        self.outcomes.setdefault(row, Counter())[outcome] += 1

    def lines(self) -> list[str]:
        return [f"{row}  {self._told(row):32}  {words}" for row, words in ROWS.items()]

    def _told(self, row: str) -> str:
        came = self.outcomes[row]
        if not came:
            return "NO TEST"
        if came["failed"]:
            return f"FAILED ({came['failed']} of {came.total()})"
        told: list[str] = []
        if came["passed"]:
            told.append(f"passed ({came['passed']})")
        if came["deferred"]:
            told.append("a part deferred" if told else "deferred")
        if came["skipped"]:
            told.append(f"left out ({came['skipped']})")
        return ", ".join(told)
