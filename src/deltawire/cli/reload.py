"""``deltawire serve --reload``: the server in a child process, started anew when a file of the app changes.

The parent holds HTTP's listening socket: a call that comes between two children waits for the next one. A gRPC call is
refused then, and its channel connects again by itself. The child is ``child.py``.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from watchfiles import Change, DefaultFilter, watch

from deltawire.cli.app import app_of
from deltawire.cli.child import PROGRAM, Told
from deltawire.cli.serving import Flags, listen
from deltawire.cli.terminal import complain
from deltawire.domain.errors import DeclarationError
from deltawire.providers.local.process import how_ended
from deltawire.settings import Settings, config_file

_PATIENCE = 30.0
"""Seconds that a child gets to end after Ctrl-C: a little more than it gives to calls that are under way."""
_CANNOT_WORK = 2
"""The exit code after one line that says what is wrong with the app or its settings."""
_DEBOUNCE = 100
"""Milliseconds for which changes are collected: an editor, or a checkout, writes many files at once."""
_LOOK_EVERY = 500
"""Milliseconds after which the child and the configuration are looked at where no file changes."""
_NAMED = 3
"""How many changed files are told of by name."""


def serve_and_watch(flags: Flags) -> int:
    """Serve until Ctrl-C or SIGTERM; returns the exit code.

    Raises ``DeclarationError`` for settings that cannot work at the start. What is wrong with the app itself is told by
    its child, and may be mended.
    """
    if sys.platform == "win32":
        raise DeclarationError("--reload hands a socket to another process, which Windows cannot: leave it out")
    settings = flags.settings()
    if settings.workers > 1:
        raise DeclarationError("--reload serves with one process, and --workers asks for more: leave one of them out")
    app = app_of(settings, "serve shop.py --reload")
    folder, config = folder_of(app), _Configuration()
    served = _Served(flags, settings)
    stop = _stop_on_signals(served)
    try:
        for changes in watch(
            folder,
            watch_filter=_python_files_in(folder),
            debounce=_DEBOUNCE,
            rust_timeout=_LOOK_EVERY,
            yield_on_timeout=True,
            stop_event=stop,
            ignore_permission_denied=True,
        ):
            if changed := [*_named(changes, folder), *config.changed()]:
                served.restart(", ".join(changed))
            else:
                served.look_after()
    except (OSError, RuntimeError) as error:  # too many folders for the system; watchfiles' own failure
        raise DeclarationError(f"cannot watch {folder}: {error}; leave --reload out") from error
    finally:
        served.end()
    return 0


def folder_of(app: str) -> Path:
    """The folder to watch, found without running a line of the app. Raises ``DeclarationError`` where there is none."""
    if app.endswith(".py") or "/" in app:
        if not Path(app).is_file():
            raise DeclarationError(f"there is no file {app}: name the file with your functions")
        return Path(app).resolve().parent
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    spec = find_spec(app.partition(".")[0])  # of a dotted name only this part is found without an import
    if spec is None:
        raise DeclarationError(f"there is no module {app} here: name the file with your functions")
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return Path(spec.origin or here).resolve().parent


class _Served:
    """The child of the moment, and the socket that it serves HTTP on. For gRPC each child binds its port itself."""

    def __init__(self, flags: Flags, settings: Settings) -> None:
        self._flags = flags
        self._where: tuple[str, int] = (settings.host, settings.port)
        self._bound = listen(settings)
        self._child = self._started(again=False)
        self._told = False

    def restart(self, what: str) -> None:
        """End the child at once, with whatever it is doing, and start the next."""
        print(f"deltawire: {what} changed", file=sys.stderr)
        self.kill()
        try:
            self._move(self._flags.settings())
        except DeclarationError as error:
            complain(str(error))
            self._wait()
            return
        self._child = self._started(again=True)
        self._told = False

    def look_after(self) -> None:
        """A child that ended with 2 has said why; any other way to end is worth a word."""
        code = self._child.poll()
        if code is None or self._told:
            return
        if code != _CANNOT_WORK:
            complain(f"the server ended ({how_ended(code)})")
        self._wait()

    def _wait(self) -> None:
        self._told = True
        print("deltawire: waiting for a change", file=sys.stderr)

    def ask_to_end(self) -> None:
        """As Ctrl-C does where there is no parent between; a second time it ends at once."""
        with suppress(ProcessLookupError):
            self._child.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait()

    def end(self) -> None:
        self.ask_to_end()
        try:
            self._child.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill()
            self._close()

    def _move(self, settings: Settings) -> None:
        """To another address, where the configuration names another."""
        where = (settings.host, settings.port)
        if where != self._where:
            bound = listen(settings)
            self._close()
            self._bound, self._where = bound, where

    def _close(self) -> None:
        if self._bound is not None:
            self._bound.close()

    def _started(self, *, again: bool) -> "subprocess.Popen[bytes]":
        told = Told(self._flags, None if self._bound is None else self._bound.fileno(), again=again)
        child = subprocess.Popen(
            PROGRAM,
            stdin=subprocess.PIPE,
            pass_fds=told.descriptors,
            start_new_session=True,  # Ctrl-C is ours alone: we end the child in order
        )
        assert child.stdin is not None
        with suppress(BrokenPipeError):  # it died at once
            child.stdin.write(told.line())
            child.stdin.flush()
        return child


class _Configuration:
    """The configuration file. It is looked at rather than watched: its folder may be anything, a whole home too."""

    def __init__(self) -> None:
        self._file = config_file()
        self._seen = self._state()

    def changed(self) -> list[str]:
        """Its name, where it is not what it was when this was asked last."""
        before, self._seen = self._seen, self._state()
        return [] if self._seen == before else [str(self._file)]

    def _state(self) -> tuple[int, int, int] | None:
        try:
            state = self._file.stat()
        except OSError:
            return None
        return state.st_mtime_ns, state.st_size, state.st_ino


def _python_files_in(folder: Path) -> Callable[[Change, str], bool]:
    """Outside the folders of environments, caches and the like. That the app itself lies in such a one is no matter."""
    usual = DefaultFilter()

    def watched(change: Change, path: str) -> bool:
        inside = path.removeprefix(f"{folder}{os.sep}")
        return path.endswith(".py") and usual(change, inside)

    return watched


def _named(changes: Iterable[tuple[Change, str]], folder: Path) -> list[str]:
    paths = sorted({Path(path) for _, path in changes})
    names = [str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name for path in paths]
    return [*names[:_NAMED], *([f"{len(names) - _NAMED} more"] if len(names) > _NAMED else [])]


def _stop_on_signals(served: _Served) -> threading.Event:
    """The event that Ctrl-C and SIGTERM set. A second one is handed on: the child then ends without waiting."""
    stop = threading.Event()

    def on_signal(_signum: int, _frame: object) -> None:
        if stop.is_set():
            served.ask_to_end()
        stop.set()

    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, on_signal)
    return stop
