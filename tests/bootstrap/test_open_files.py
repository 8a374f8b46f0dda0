"""How many files a server may open, in processes with limits of their own."""

import subprocess
import sys

import pytest

pytest.importorskip("resource", reason="limits of this kind are Unix's")

PROGRAM = """
import logging, resource, sys
from deltawire.bootstrap.open_files import allow_open_files
soft, hard, max_runs = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
logging.basicConfig(format="%(message)s")
allow_open_files(max_runs)
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def limits(soft: int, hard: int, max_runs: int) -> tuple[str, str]:
    """The soft and the hard limit afterwards, and what was said."""
    numbers = map(str, (soft, hard, max_runs))
    ended = subprocess.run([sys.executable, "-c", PROGRAM, *numbers], capture_output=True, text=True, check=True)
    return ended.stdout.strip(), ended.stderr.strip()


def test_a_limit_that_is_too_low_is_raised() -> None:
    assert limits(256, 4000, 1000) == ("3024 4000", "")


def test_a_limit_that_suffices_is_left_alone() -> None:
    assert limits(3500, 4000, 1000) == ("3500 4000", "")


def test_where_no_more_is_allowed_it_is_told() -> None:
    now, said = limits(256, 1000, 1000)
    assert now == "1000 1000"
    assert said == (
        "1000 runs at once (max_runs) need 3024 open files, and 1000 are allowed: raise that (ulimit -n) or lower it"
    )
