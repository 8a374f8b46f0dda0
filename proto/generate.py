"""Make the Python messages and client stubs of the ``.proto`` files, or tell with ``--check`` which are not up to date.

In: ``proto/deltawire``. Out: ``src/deltawire/**/*_pb2*``, and for the page ``web/src/stubs``, where what makes those is
installed. Which compiler made them is pinned in ``pyproject.toml`` and ``web/package.json``.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from typescript import STUBS, typescript

PROTO = Path(__file__).resolve().parent
SOURCE = PROTO.parent / "src"


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: generate.py [--check]", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pages = typescript(folder)
        made = _by_path(SOURCE, generated(folder / "python"))
    committed = {path: path.read_bytes() for path in SOURCE.rglob("*_pb2*.py*") if _is_source(path)}
    if pages is None:
        print("the page's stubs are left as they are: web/node_modules is missing (make web)")
    else:
        made |= _by_path(STUBS, pages)
        committed |= {path: path.read_bytes() for path in STUBS.rglob("*.ts")}
    differing = sorted(path for path in made.keys() | committed.keys() if made.get(path) != committed.get(path))
    stale = [str(path.relative_to(PROTO.parent)) for path in differing]
    if not arguments:
        for path in differing:
            _bring_up_to_date(path, made.get(path))
        print(f"generated: {', '.join(stale)}" if stale else "the stubs are up to date")
        return 0
    if stale:
        print(f"not what proto/ says: {', '.join(stale)}; run make generate and commit the result", file=sys.stderr)
    return 1 if stale else 0


def generated(folder: Path) -> dict[str, bytes]:
    """What the compiler makes of all files, by its path below ``src``."""
    folder.mkdir()
    for proto in sorted(PROTO.rglob("*.proto")):
        name = proto.relative_to(PROTO)
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}"]
        command += [f"--{kind}_out={folder}" for kind in ("python", "pyi", "grpc_python")]
        subprocess.run([*command, name], check=True)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _by_path(folder: Path, made: dict[str, bytes]) -> dict[Path, bytes]:
    return {folder / name: text for name, text in made.items()}


def _is_source(path: Path) -> bool:
    return path.suffix in (".py", ".pyi")


def _bring_up_to_date(path: Path, text: bytes | None) -> None:
    """``None`` is a file that nothing makes any more."""
    if text is None:
        path.unlink()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
