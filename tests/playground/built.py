"""The page as it is built of ``web/``, whoever has changed that since the last time."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.missing import leave_out

_ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def built_page() -> Path:
    """The page's folder. Tests that ask for it are left out where what builds it is not to be had, and fail where it
    does not build."""
    command = [sys.executable, _ROOT / "requirements" / "web.py", "--optional"]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        pytest.fail(made.stdout)
    if "left out" in made.stdout:
        leave_out("the playground", made.stdout)
    return _ROOT / "src" / "deltawire" / "playground"
