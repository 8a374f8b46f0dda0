"""The server in a process that another one watches over: with ``--reload`` started anew at each change, with
``--workers`` one of several.

In: on stdin what it is ``Told``, a line of JSON. It lives as long as its stdin stays open, so that it ends with its
parent, however the parent ends; and at once, since nobody is there to be told how it went on.
"""

import json
import os
import socket
import sys
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from deltawire.cli.main import reporting
from deltawire.cli.serving import Flags, serve_until_stopped

PROGRAM = (sys.executable, "-P", "-m", "deltawire.cli.child")


@dataclass(frozen=True, slots=True)
class Told:
    """What a child is told when it starts. The descriptors are ones that it has inherited."""

    flags: Flags
    http: int | None
    """The socket that HTTP is served on, which listens already; ``None`` where it is not served."""
    supervisor: int | None = None
    """A worker's socket to its supervisor."""
    again: bool = False
    """Whether the server was announced before."""

    @property
    def descriptors(self) -> list[int]:
        return [descriptor for descriptor in (self.http, self.supervisor) if descriptor is not None]

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def main() -> None:
    line = sys.stdin.buffer.readline()
    if not line:  # the parent ended already
        return
    said: dict[str, Any] = json.loads(line)
    told = Told(Flags(**said.pop("flags")), **said)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with ExitStack() as open_:
        http = open_.enter_context(_inherited(told.http))
        supervisor = open_.enter_context(_inherited(told.supervisor))
        serve_until_stopped(told.flags, told.flags.settings(), http, brief=told.again, between=supervisor)


@contextmanager
def _inherited(descriptor: int | None) -> Generator[socket.socket | None]:
    if descriptor is None:
        yield None
    else:
        with socket.socket(fileno=descriptor) as inherited:
            inherited.set_inheritable(False)  # a program that the app starts may live on, and would keep the port
            yield inherited


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    reporting(main)
