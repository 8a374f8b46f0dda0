"""Make the Python messages and client stubs of the ``.proto`` files, or tell with ``--check`` which are not up to date.

In: ``proto/deltawire``. Out: ``src/deltawire/**/*_pb2*``. Which compiler made them is pinned in ``pyproject.toml``.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

PROTO = Path(__file__).resolve().parent
SOURCE = PROTO.parent / "src"


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: generate.py [--check]", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        made = generated(Path(folder))
    committed = {
        str(path.relative_to(SOURCE)): path.read_bytes() for path in SOURCE.rglob("*_pb2*.py*") if _is_source(path)
    }
    stale = sorted(name for name in made.keys() | committed.keys() if made.get(name) != committed.get(name))
    if not arguments:
        for name in stale:
            _bring_up_to_date(SOURCE / name, made.get(name))
        print(f"generated: {', '.join(stale)}" if stale else "the stubs are up to date")
        return 0
    if stale:
        print(f"not what proto/ says: {', '.join(stale)}; run make generate and commit the result", file=sys.stderr)
    return 1 if stale else 0


def generated(folder: Path) -> dict[str, bytes]:
    """What the compiler makes of all files, by its path below ``src``."""
    for proto in sorted(PROTO.rglob("*.proto")):
        name = proto.relative_to(PROTO)
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}"]
        command += [f"--{kind}_out={folder}" for kind in ("python", "pyi", "grpc_python")]
        subprocess.run([*command, name], check=True)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


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
