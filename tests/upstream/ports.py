"""Addresses where nobody answers: one that refuses, one that lets every caller wait."""

import contextlib
import socket
from collections.abc import Generator


@contextlib.contextmanager
def refused_port() -> Generator[int]:
    """A port of 127.0.0.1 that refuses connections and that nobody else can take meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@contextlib.contextmanager
def never_accepting_port() -> Generator[int]:
    """A port of 127.0.0.1 where a connect neither succeeds nor fails: its queue of new connections is full.

    Linux drops the SYN of a caller when the queue is full, so that the caller's connect goes on trying.
    """
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(16):
            caller = stack.enter_context(socket.socket())
            caller.settimeout(0.2)
            try:
                caller.connect(address)
            except TimeoutError:
                break
        else:
            raise OSError("the queue of new connections never filled")
        yield address[1]
