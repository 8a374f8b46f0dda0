"""What a module leaves open makes that module fail, in a run of pytest of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYTEST = ("-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "--rootdir")
SESSION = """
import socket
import pytest

pytest_plugins = ["tests.left_open"]

@pytest.fixture(scope="session")
def listening():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening
"""
HELD = """
import socket
HELD = []

def test_one():
    HELD.append(socket.create_server(("127.0.0.1", 0)))

def test_another():
    pass
"""
CYCLE = """
class Cycle:
    def __init__(self, kept):
        self.kept, self.itself = kept, self

def test_one(tmp_path):
    Cycle(%s)

def test_another():
    pass
"""
TIDY = """
import socket

def test_one(listening):
    with socket.create_connection(listening.getsockname()) as caller:
        caller.sendall(b"x")

def test_another(listening):
    listening.settimeout(5)
    accepted, _ = listening.accept()
    accepted.close()
"""


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        (HELD, "test_left.py::test_one (call)"),
        (CYCLE % "__import__('socket').create_server(('127.0.0.1', 0))", "test_left.py::test_one (call)"),
        (CYCLE % "(tmp_path / 'file').open('w')", "ResourceWarning: unclosed file"),
        (TIDY, None),
    ],
    ids=["held", "socket in a cycle", "file in a cycle", "tidy"],
)
def test_a_module_that_leaves_something_open_fails_and_the_next_one_does_not(
    tmp_path: Path, module: str, complaint: str | None
) -> None:
    (tmp_path / "conftest.py").write_text(SESSION)
    (tmp_path / "test_left.py").write_text(module)
    (tmp_path / "test_next.py").write_text(TIDY)
    ran = subprocess.run(
        [sys.executable, *PYTEST, tmp_path, tmp_path],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },  # none of them is needed, and some are slow to import
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "4 passed" in ran.stdout, ran.stdout + ran.stderr
    errors = [line for line in ran.stdout.splitlines() if line.startswith("ERROR ")]
    if complaint is None:
        assert (ran.returncode, errors) == (0, [])
    else:
        assert ran.returncode == 1
        assert [line.partition(" - ")[0].rpartition("/")[2] for line in errors] == ["test_left.py::test_another"]
        assert complaint in ran.stdout
