"""The connections to one origin: kept for a while after a whole reply, the last one used first."""

import asyncio

from deltawire.providers.http1.connection import Connection
from deltawire.providers.http1.dialing import Dialer
from deltawire.providers.http1.errors import UnreachableError
from deltawire.providers.http1.origin import Origin


class Pool:
    """Implements ``connection.Owner``. There may be any number of connections: how many runs there are is decided at
    the door."""

    def __init__(self, origin: Origin, keep_alive: float) -> None:
        """An idle connection is kept for ``keep_alive`` seconds; with 0, none is."""
        self._dialer = Dialer(origin)
        self._keep_alive = keep_alive
        self._open: set[Connection] = set()
        self._kept: dict[Connection, float] = {}  # until when, in ascending order
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._emptied: asyncio.Future[None] | None = None

    def kept(self) -> Connection | None:
        """One that can be used again, if there is one."""
        now = asyncio.get_running_loop().time()
        while self._kept:
            connection, until = self._kept.popitem()
            if connection.usable and until > now:
                return connection
            connection.abort()
        return None

    async def fresh(self) -> Connection:
        """A new one. Raises ``UnreachableError``."""
        connection = await self._dialer.dial(lambda: Connection(self))
        if self._closed:
            connection.abort()
            raise UnreachableError("no connection")
        return connection

    async def close(self) -> None:
        """Close all connections, whatever they are doing, and return when they are."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await self._dialer.close()
        for connection in tuple(self._open):
            connection.abort()
        while self._open:
            self._emptied = asyncio.get_running_loop().create_future()
            await self._emptied

    # What the connections say.

    def opened(self, connection: Connection) -> None:
        self._open.add(connection)

    def keep(self, connection: Connection) -> None:
        if self._closed or not self._keep_alive:
            connection.abort()
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + self._keep_alive
        self._kept[connection] = until
        if self._timer is None:
            self._timer = loop.call_at(until, self._expire)

    def lost(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._kept.pop(connection, None)
        if not self._open and self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)

    def _expire(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        for connection, until in tuple(self._kept.items()):
            if until > loop.time():
                self._timer = loop.call_at(until, self._expire)
                return
            del self._kept[connection]
            connection.abort()
