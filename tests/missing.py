"""What a machine may lack. A test that needs it is left out and named at the end of the run; with
``DELTAWIRE_TEST_REQUIRE_ALL=1`` it fails."""

import os
from typing import NoReturn

import pytest

MISSING: set[str] = set()
"""The names of what this run had to do without."""


def leave_out(name: str, why: str) -> NoReturn:
    if os.environ.get("DELTAWIRE_TEST_REQUIRE_ALL") == "1":
        pytest.fail(why)
    MISSING.add(name)
    pytest.skip(why)
