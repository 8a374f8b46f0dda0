"""Every failure of the list has a test, and every test is about one of the list."""

import re
from pathlib import Path

from tests.field.rows import DEFERRED, ROWS

_NAMED = re.compile(r"^(?:async )?def test_([a-z]{2})_(\d\d)_", re.MULTILINE)


def played() -> set[str]:
    """The ids after which tests of this room are named."""
    sources = [file.read_text() for file in Path(__file__).parent.glob("test_*.py")]
    return {f"{kind.upper()}-{number}" for source in sources for kind, number in _NAMED.findall(source)}


def test_every_row_has_a_test_or_is_deferred() -> None:
    assert len(ROWS) == 50
    missing = sorted(ROWS.keys() - played() - set(DEFERRED))
    assert not missing, f"no test is named after {missing}"


def test_no_test_is_named_after_a_row_that_is_not_there() -> None:
    assert not (played() | set(DEFERRED)) - ROWS.keys()
