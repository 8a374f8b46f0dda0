"""Make ``.venv`` hold what one lock names, and this package on top: ``install.py serve`` or ``install.py dev``.

In: ``requirements/<lock>.txt`` and ``pyproject.toml``. Out: ``.venv`` and a state file in it: what it was made of.
The state file is taken away before anything changes and comes back last. So a ``.venv`` without one was interrupted,
however that came about, and is made anew; where nothing has changed, no installer is started.

Standard library only: this runs before anything is installed.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STATE = VENV / "deltawire-setup.json"
USAGE = "usage: install.py serve|dev [--this-python]"


class SetupError(Exception):
    """A step that failed. The text names it and the way out."""


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in {"serve", "dev"}:
        say(USAGE)
        return 2
    try:
        with one_at_a_time() as turn:
            _set_up(arguments[0], this_python="--this-python" in arguments, turn=turn)
    except SetupError as error:
        say(f"Setup failed: {error}")
        return 1
    except KeyboardInterrupt:
        say("Setup interrupted; the next start does it again.")
        return 130
    return 0


@contextmanager
def one_at_a_time() -> Generator[int]:
    """What an installer inherits so that it is waited for, even when whoever started it was killed."""
    with Path(__file__).open() as file:
        turn = file.fileno()
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another setup is under way; waiting for its end ...")
            fcntl.flock(turn, fcntl.LOCK_EX)
        yield turn


def _set_up(lock: str, *, this_python: bool, turn: int) -> None:
    found = _state(this_python=this_python)
    packages = {name: digest(ROOT / "requirements" / f"{name}.txt") for name in ("serve", "dev")}
    project = digest(ROOT / "pyproject.toml")
    # dev holds all that serve holds, in the same versions
    installed = found.get("packages") in {packages[lock], packages["dev"]}
    if installed and found.get("project") == project:
        return

    began = time.monotonic()
    STATE.unlink(missing_ok=True)
    if not installed and found.get("packages") != packages["serve"]:
        _make_venv(turn)
        found = {"python": sys.version}
    if not installed:
        say(f"Installing what requirements/{lock}.txt names (once, about a minute) ...")
        _install("--require-hashes", "--only-binary", ":all:", "-r", f"requirements/{lock}.txt", turn=turn)
        found["packages"] = packages[lock]
    say("Installing deltawire ...")
    _install("--no-build-isolation", "--editable", ".", turn=turn)
    _write_state({**found, "root": str(ROOT), "project": project})
    say(f"Ready after {time.monotonic() - began:.0f} s.")


def _state(*, this_python: bool) -> dict[str, str]:
    """What .venv was made of. Nothing where it cannot be used: interrupted, moved, its Python gone or another."""
    try:
        state: dict[str, str] = json.loads(STATE.read_text())
        version = subprocess.run(
            [VENV / "bin" / "python", "-c", "import sys; print(sys.version, end='')"], capture_output=True, text=True
        ).stdout
    except (OSError, ValueError):
        return {}
    usable = state.get("root") == str(ROOT) and state.get("python") == version
    return state if usable and (not this_python or version == sys.version) else {}


def _write_state(state: dict[str, str]) -> None:
    unfinished = STATE.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(state))
    unfinished.replace(STATE)


def _make_venv(turn: int) -> None:
    say(f"Making .venv with Python {sys.version.split()[0]} ...")
    if VENV.is_symlink() or VENV.is_file():
        raise SetupError(f"{VENV} is not a folder; move it away")
    if VENV.exists():
        shutil.rmtree(VENV)
    made = subprocess.run(
        [sys.executable, "-m", "venv", VENV],
        pass_fds=(turn,),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if made.returncode:
        raise SetupError(
            f"{sys.executable} cannot make a virtual environment (on Debian and Ubuntu: apt-get install python3-venv)\n"
            + made.stdout
        )


def _install(*arguments: str, turn: int) -> None:
    if pip(*arguments, turn=turn).returncode:
        raise SetupError(
            f"pip could not install {arguments[-1]} (its words are above); "
            "see whether it can reach its package index, then start again"
        )


def pip(*arguments: str, turn: int, output: int | None = None) -> "subprocess.CompletedProcess[str]":
    """``pip install``, into ``.venv`` if it is not told otherwise. ``output`` is for what it says."""
    quiet = ("-qq", "--disable-pip-version-check", "--no-input", "--root-user-action", "ignore")
    command = [VENV / "bin" / "python", "-m", "pip", "install", *quiet, "--no-deps", *arguments]
    # settings that would put packages elsewhere than into .venv
    elsewhere = {"PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PYTHONPATH", "PYTHONHOME"}
    environment = {name: value for name, value in os.environ.items() if name not in elsewhere}
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        pass_fds=(turn,),
        stdout=output,
        stderr=output and subprocess.STDOUT,
        text=True,
    )


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
