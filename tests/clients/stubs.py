"""Stubs, made by the commands of the page in a folder like a reader's: ``proto`` and ``googleapis`` are there, and
``node_modules`` with the plugin."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.clients.page import PROGRAMS
from tests.matrix.server import clean_environment
from tests.node import Node

_PROTO = Path(__file__).parents[2] / "proto"


def python_stubs(folder: Path) -> Path:
    """The folder ``deltawire`` with its messages. This environment has a package of that name, which a reader's has
    not: ours must go first, so it becomes a package too."""
    (folder / "proto").symlink_to(_PROTO)
    _run("grpc_stubs.sh", folder, Path(sys.executable).parent)
    made = folder / "deltawire"
    for package in (made, made / "v1"):
        (package / "__init__.py").touch()
    return made


def typescript_stubs(folder: Path, node: Node) -> Path:
    """The folder ``gen``."""
    (folder / "proto").symlink_to(_PROTO)
    found = find_spec("google.rpc")
    assert found is not None
    assert found.submodule_search_locations is not None
    (folder / "googleapis").symlink_to(Path(next(iter(found.submodule_search_locations))).parents[1])
    node.link(folder)
    (folder / "package.json").write_text('{"type": "module"}')
    protoc = folder / "protoc"
    protoc.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m grpc_tools.protoc "$@"\n')
    protoc.chmod(0o755)
    _run("connect_stubs.sh", folder, folder, node.program.parent)
    return folder / "gen"


def _run(name: str, folder: Path, *programs: Path) -> None:
    clean = clean_environment()
    subprocess.run(
        ["sh", "-euc", PROGRAMS[name]],
        cwd=folder,
        env={**clean, "PATH": ":".join([*map(str, programs), clean["PATH"]])},
        check=True,
    )
