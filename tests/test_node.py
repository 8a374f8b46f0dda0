"""What the tests run with Node is there, and its lock names no address."""

import json
from pathlib import Path

import pytest

from tests.node import FOLDER, Node

pytestmark = pytest.mark.anyio


def test_the_lock_of_the_packages_names_no_address() -> None:
    packages: dict[str, dict[str, object]] = json.loads((FOLDER / "package-lock.json").read_text())["packages"]
    for name, package in packages.items():
        assert "resolved" not in package, name
        assert not name or "integrity" in package, name


async def test_a_script_finds_the_packages(node_modules: Node, tmp_path: Path) -> None:
    node_modules.link(tmp_path)
    script = tmp_path / "one.mjs"
    script.write_text('import createClient from "openapi-fetch"; console.log(typeof createClient)')
    assert await node_modules.run(script) == "function\n"
