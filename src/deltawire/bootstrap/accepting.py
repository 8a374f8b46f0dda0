"""Takes connections from a listening socket that several processes take them from.

In: the socket, which all of them have inherited. Out: connections, one at a time. By itself uvloop takes all that wait
at once: whoever woke first would get a whole burst of streams, and keep it.
"""

import asyncio
import logging
import socket
from collections.abc import Callable

from deltawire.bootstrap.connection import Connection

logger = logging.getLogger("deltawire")

_TURN = 0.001
"""Seconds after each connection in which the next ones are the others'."""
_PAUSE = 1.0
"""Seconds without another try when the system has no room for another connection."""


class Accepting:
    """From ``start`` to ``close``. It has what uvicorn asks of a server in its loop, and is none of asyncio's."""

    def __init__(self, listening: socket.socket, protocol: Callable[[], Connection]) -> None:
        self._listening = listening
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._connecting: set[asyncio.Task[object]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._closed = False
        listening.setblocking(False)

    def start(self) -> None:
        self._loop.add_reader(self._listening, self._accept)

    def close(self) -> None:
        """The socket is left open: the others still take connections from it."""
        self._closed = True
        self._loop.remove_reader(self._listening)
        if self._pause is not None:
            self._pause.cancel()

    async def wait_closed(self) -> None:
        """Until the connections that were taken have come to their protocols."""
        if self._connecting:
            await asyncio.wait(self._connecting)

    def _accept(self) -> None:
        try:
            connection, _ = self._listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionError):  # another process has it, or its caller left
            return
        except OSError as error:
            logger.error("cannot take connections: %s; the next try is in %g s", error.strerror, _PAUSE)
            self._wait(_PAUSE)
            return
        self._wait(_TURN)
        connecting = self._loop.create_task(self._connect(connection))
        self._connecting.add(connecting)
        connecting.add_done_callback(self._connecting.discard)

    def _wait(self, seconds: float) -> None:
        self._loop.remove_reader(self._listening)
        self._pause = self._loop.call_later(seconds, self.start)

    async def _connect(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _, protocol = await self._loop.connect_accepted_socket(self._protocol, connection)
        except OSError:  # its caller left meanwhile
            connection.close()
            return
        if self._closed:  # too late to be told so with the others
            protocol.shutdown()
