"""Where the peers' packages are: for each lock in this folder an environment of its own in ``.venv-peers``, since they
pin what the project and each other have newer.

``make bench-peers`` makes them, whole or not at all; git ignores them.
"""

import hashlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

_LOCKS = Path(__file__).parent
_FOLDER = _LOCKS.parent.parent / ".venv-peers"


@dataclass(frozen=True, slots=True)
class Environment:
    """Named by its lock."""

    name: str

    @property
    def python(self) -> str:
        return str(self._folder / "bin" / "python")

    def program(self, name: str) -> str:
        return str(self._folder / "bin" / name)

    def missing(self) -> str | None:
        """Why nothing can be run in it, if so."""
        if not self._installed.is_file():
            return "its packages are not installed: make bench-peers"
        if self._installed.read_text() != self._wanted():
            return "its packages are those of another lock or Python: make bench-peers"
        return None

    def install(self) -> None:
        """Do nothing where it is whole. Raises ``CalledProcessError`` where it cannot be had; uv has said why."""
        if self.missing() is None:
            return
        shutil.rmtree(self._folder, ignore_errors=True)
        uv = str(Path(sys.executable).with_name("uv"))
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(self._folder)], check=True)
        hashed = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", str(self._lock)]
        subprocess.run([uv, "pip", "install", "--quiet", "--python", self.python, *hashed], check=True)
        self._installed.write_text(self._wanted())

    def versions(self, *packages: str) -> str:
        """Of packages that are installed in it."""
        (folder,) = self._folder.glob("lib/python*/site-packages")
        found = {each.name: each.version for each in metadata.distributions(path=[str(folder)])}
        return ", ".join(f"{package} {found[package]}" for package in packages)

    @property
    def _lock(self) -> Path:
        return _LOCKS / f"{self.name}.txt"

    @property
    def _folder(self) -> Path:
        return _FOLDER / self.name

    @property
    def _installed(self) -> Path:
        """Holds the digest of the lock whose packages are there, whole."""
        return self._folder / "deltawire-lock"

    def _wanted(self) -> str:
        return hashlib.sha256(self._lock.read_bytes() + sys.version.encode()).hexdigest()


USUAL = Environment("usual")
LITELLM = Environment("litellm")
