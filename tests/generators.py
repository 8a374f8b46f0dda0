"""Programs that write clients from an OpenAPI document, in an environment of their own: they need older versions.

``tests/generators/requirements.txt`` is installed beside it when a test first asks, and again when it has changed; git
ignores what is installed.
"""

import asyncio
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.missing import leave_out

FOLDER = Path(__file__).parent / "generators"
_LOCK = FOLDER / "requirements.txt"
_VENV = FOLDER / ".venv"
_INSTALLED = _VENV / "deltawire-lock"
"""Holds the digest of the lock whose packages are there, whole."""


@dataclass(frozen=True, slots=True)
class Generators:
    """Their environment."""

    programs: Path

    async def run(self, program: str, *arguments: str | Path, folder: Path, within: float = 60) -> str:
        """What it prints; a failure says what it printed. The loop goes on meanwhile, and with it the servers of the
        test. ``program`` is one of the environment, or a path."""
        path = Path(program) if os.sep in program else self.programs / program
        process = await asyncio.create_subprocess_exec(
            path,
            *map(str, arguments),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"PATH": f"{self.programs}{os.pathsep}{os.environ.get('PATH', '')}", "HOME": str(folder)},
        )
        try:
            async with asyncio.timeout(within):
                said, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == 0, f"{path.name} failed ({process.returncode}):\n{said.decode(errors='replace')}"
        return said.decode()


@pytest.fixture(scope="session")
def generators() -> Generators:
    """Tests that ask for them are left out where they cannot be had."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        leave_out("uv", "uv is not installed in this environment")
    with (FOLDER / "requirements.in").open() as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # one installation at a time
        _install(uv)
    return Generators(_VENV / "bin")


def _install(uv: Path) -> None:
    wanted = hashlib.sha256(_LOCK.read_bytes() + sys.version.encode()).hexdigest()
    if _INSTALLED.is_file() and _INSTALLED.read_text() == wanted:
        return
    shutil.rmtree(_VENV, ignore_errors=True)
    _run(uv, "venv", "--quiet", "--python", sys.executable, str(_VENV))
    python = str(_VENV / "bin" / "python")
    _run(uv, "pip", "install", "--quiet", "--python", python, "--no-deps", "--require-hashes", "-r", str(_LOCK))
    _INSTALLED.write_text(wanted)


def _run(uv: Path, *arguments: str) -> None:
    try:
        ended = subprocess.run([uv, *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        leave_out("generators of clients", f"uv {arguments[0]} did not end within 300 s")
    if ended.returncode:
        leave_out("generators of clients", f"uv {arguments[0]} failed:\n{ended.stderr}")
