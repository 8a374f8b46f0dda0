"""What cannot be played yet, by its id."""

import pytest

from tests.field.rows import DEFERRED, PARTLY_DEFERRED


@pytest.mark.parametrize("row", [*DEFERRED, *PARTLY_DEFERRED])
def test_deferred(row: str) -> None:
    pytest.xfail(row)
