"""Finds the functions in a user's file or module."""

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from deltawire.domain.errors import DeclarationError
from deltawire.domain.function import Function


def load_functions(app: str) -> dict[str, Function]:
    """The functions of ``shop.py``, or of the module ``shop``, by their names.

    Raises ``DeclarationError`` for a module that is missing, broken, or without functions.
    """
    module = _import(app)
    found: dict[str, Function] = {}
    for value in vars(module).values():
        if not isinstance(value, Function):
            continue
        other = value.shadows or found.get(value.name)
        if other is not None and other is not value:
            raise DeclarationError(
                f"{value.where}: a function named '{other.name}' is at {other.where} already: rename one of the two"
            )
        found[value.name] = value
    if not found:
        raise DeclarationError(f"{app} has no functions: put @function above a def that returns a Prompt")
    return found


def _import(app: str) -> ModuleType:
    path = Path(app)
    is_file = path.suffix == ".py" or "/" in app
    if is_file and not path.is_file():
        raise DeclarationError(f"there is no file {app}: name the file with your functions")
    try:
        return _from_file(path) if is_file else _from_name(app)
    except DeclarationError:
        raise
    except ModuleNotFoundError as error:
        if not is_file and error.name == app.partition(".")[0]:
            raise DeclarationError(f"there is no module {app} here: name the file with your functions") from None
        raise _broken(app, error) from error
    except (Exception, SystemExit) as error:
        raise _broken(app, error) from error


def _from_file(path: Path) -> ModuleType:
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # its neighbours are importable, as when Python runs the file
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise DeclarationError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module  # annotations are looked up in the module by its name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        if before is not None:
            sys.modules[name] = before
        raise
    return module


def _from_name(name: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    return importlib.import_module(name)


def _broken(app: str, error: BaseException) -> DeclarationError:
    """Where the file went wrong: the last line of it that ran, or the line that is no Python."""
    if isinstance(error, SyntaxError) and error.filename:
        return DeclarationError(f"{error.filename}:{error.lineno}: {error.msg}")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    own = [frame for frame in frames if frame.filename.startswith(str(Path(app).resolve().parent))]
    last = (own or frames)[-1] if frames else None
    where = f"{last.filename}:{last.lineno}" if last else app
    return DeclarationError(f"{where}: {type(error).__name__}: {error}")
