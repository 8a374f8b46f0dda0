"""The types of the page hold, its pure parts pass their own tests, and its stubs are those of ``proto/``."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.node import Node

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("built_page")]

ROOT = Path(__file__).parents[2]


async def test_the_pages_own_tests_pass(node_modules: Node) -> None:
    files = sorted((ROOT / "web" / "src").rglob("*.test.ts"))
    assert len(files) > 10
    said = await node_modules.run(Path("--test"), *map(str, files), folder=ROOT / "web")
    counted = {name: int(count) for name, count in re.findall(r"^ℹ (\w+) (\d+)$", said, re.MULTILINE)}
    assert counted["pass"] > len(files)
    assert {counted[name] for name in ("fail", "cancelled", "skipped", "todo")} == {0}


async def test_the_page_passes_the_compiler(node_modules: Node) -> None:
    web = ROOT / "web"
    await node_modules.run(web / "node_modules" / "typescript" / "bin" / "tsc", "--noEmit", folder=web)


def test_the_pages_stubs_are_what_proto_says() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "proto" / "generate.py", "--check"], capture_output=True, text=True, timeout=60
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
