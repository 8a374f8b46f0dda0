"""atheris in a folder of its own: it has wheels for few Pythons and systems, so that the tools do without it.

``requirements.txt`` is installed when somebody first fuzzes, and again when it has changed; git ignores the folder.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = Path(__file__).parent / ".packages"
_LOCK = Path(__file__).parent / "requirements.txt"
_INSTALLED = PACKAGES / "deltawire-lock"
"""Holds the digest of the lock whose packages are there, whole."""


def install() -> None:
    """Raises ``CalledProcessError`` where there is none for this Python and system; uv has said so by then."""
    wanted = hashlib.sha256(_LOCK.read_bytes() + sys.version.encode()).hexdigest()
    if _INSTALLED.is_file() and _INSTALLED.read_text() == wanted:
        return
    shutil.rmtree(PACKAGES, ignore_errors=True)
    uv = Path(sys.executable).with_name("uv")
    command = [uv, "pip", "install", "--quiet", "--python", sys.executable, "--target", PACKAGES]
    subprocess.run([*command, "--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", _LOCK], check=True)
    _INSTALLED.write_text(wanted)
