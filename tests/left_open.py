"""A socket that a test leaves open is an error of its module, which names the test. Nobody else would say so in time:
the event loop of the session holds it until the end of the run, or the garbage collector finds it in another test."""

import gc
import os
import socket
import sys
import warnings
import weakref
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_TESTS = Path(__file__).parent
_INTERNET = (socket.AF_INET, socket.AF_INET6)  # an event loop's own pipe is a socket of another family


class Sockets:
    """Those of this process, from the moment at which they are made."""

    def __init__(self) -> None:
        self.of_session = False
        """Whether what is made now belongs to a fixture that outlives its module."""
        self._made: list[tuple[weakref.ref[socket.socket], str, bool]] = []

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit hook (PEP 578)."""
        if event == "socket.__new__" and isinstance(arguments[0], socket.socket):
            self._made.append((weakref.ref(arguments[0]), _origin(), self.of_session))

    def left_open(self) -> list[str]:
        """What is open of all that has been made since the last time. What belongs to the session may stay, and so may
        a connection that a server of the session has accepted: its caller may have left a moment ago."""
        made, self._made = self._made, []
        alive = [one for one in made if _is_open(one[0]())]
        of_session = [one for one in alive if one[2]]
        self._made += of_session
        served = [_address(reference()) for reference, _, _ in of_session]
        others = [(reference(), origin) for reference, origin, stays in alive if not stays]
        return [f"{one} made in {origin}" for one, origin in others if _address(one) not in served]


def _origin() -> str:
    """The test that runs, and the line of the tests that asked for the socket, unless the event loop did."""
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]  (an audit hook is told no frame)
    while frame is not None and not frame.f_code.co_filename.startswith(f"{_TESTS}{os.sep}"):
        frame = frame.f_back
    where = [] if frame is None else [f"{Path(frame.f_code.co_filename).relative_to(_TESTS)}:{frame.f_lineno}"]
    return ", ".join([os.environ.get("PYTEST_CURRENT_TEST", "no test"), *where])


def _is_open(one: socket.socket | None) -> bool:
    return one is not None and one.fileno() != -1 and one.family in _INTERNET


def _address(one: socket.socket | None) -> object:
    try:
        return one and one.getsockname()
    except OSError:  # closed by a thread since
        return None


_SOCKETS = Sockets()
sys.addaudithook(_SOCKETS.hear)


@pytest.fixture(scope="module", autouse=True)
def nothing_left_open() -> Generator[None]:
    """When all tests of a module are over."""
    yield
    left = _SOCKETS.left_open()
    with warnings.catch_warnings():
        if left:  # what has been found is told once, and is no error of the next module
            warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()  # a file, a process or a loop that nobody has ended complains here
    assert not left, "\n".join(["these sockets were left open:", *left])


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    before = _SOCKETS.of_session
    _SOCKETS.of_session = before or fixturedef.scope in ("session", "package")
    try:
        return (yield)
    finally:
        _SOCKETS.of_session = before
