"""``docs/reliability.md`` names tests that there are, and every fuzz target."""

import re

from tests.fuzz.targets import TARGETS
from tests.test_project import ROOT

PAGE = (ROOT / "docs/reliability.md").read_text()


def test_every_test_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`(tests/[\w./]+\.py)`", PAGE))
    assert named
    assert {path for path in named if not (ROOT / path).is_file()} == set()


def test_every_fuzz_target_is_described() -> None:
    fuzzing = PAGE.partition("## Fuzzing")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", fuzzing, re.MULTILINE)) == set(TARGETS)
