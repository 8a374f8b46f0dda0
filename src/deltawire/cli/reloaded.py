"""The server that ``deltawire serve --reload`` starts anew with each change.

In: on stdin a line of JSON with the flags and the descriptor of HTTP's listening socket, if there is one. It lives as
long as its stdin stays open, so that it ends with its parent, however the parent ends; and at once, since a change may
cut what is under way.
"""

import json
import os
import socket
import sys
import threading
from contextlib import nullcontext

from deltawire.cli.main import reporting
from deltawire.cli.serving import Flags, serve_until_stopped


def main() -> None:
    line = sys.stdin.buffer.readline()
    if not line:  # the parent ended already
        return
    told = json.loads(line)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    descriptor: int | None = told["descriptor"]
    with nullcontext() if descriptor is None else socket.socket(fileno=descriptor) as bound:
        serve_until_stopped(Flags(**told["flags"]), bound, banner=not told["again"])


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    reporting(main)
