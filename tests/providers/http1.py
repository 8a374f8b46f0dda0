"""A connection of the client's, and the other end of its socket: a test sends what a server sends, in any cut."""

import asyncio
import itertools
import socket
import struct
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from deltawire.providers.http1.connection import Connection
from deltawire.providers.http1.origin import origin_of
from deltawire.providers.http1.pool import Pool

LOOPS = [("asyncio", {"use_uvloop": False}), ("asyncio", {"use_uvloop": True})]
"""For a module's own ``anyio_backend``: both event loops that we run on."""


@dataclass
class Wired:
    connection: Connection
    pool: Pool
    server: socket.socket

    async def serve(self, *pieces: bytes) -> None:
        """Each piece is read alone."""
        loop = asyncio.get_running_loop()
        for piece in pieces:
            await loop.sock_sendall(self.server, piece)
            await turns()

    def end(self) -> None:
        self.server.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        self.server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.server.close()

    async def reply(self, *pieces: bytes) -> Connection:
        """Ask, and let the server answer with these."""
        asking = asyncio.ensure_future(self.connection.send(b"POST / HTTP/1.1\r\n\r\n"))
        await turns()
        await self.serve(*pieces)
        await asking
        return self.connection


@asynccontextmanager
async def wired(*, keep_alive: float = 4.0) -> AsyncGenerator[Wired]:
    pool = Pool(origin_of("http://127.0.0.1:1"), keep_alive)
    listener = socket.create_server(("127.0.0.1", 0))
    ours = socket.create_connection(listener.getsockname())
    server, _ = listener.accept()
    listener.close()
    for one in (ours, server):
        one.setblocking(False)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        _, connection = await asyncio.get_running_loop().create_connection(lambda: Connection(pool), sock=ours)
        yield Wired(connection, pool, server)
    finally:
        server.close()
        await pool.close()


async def turns() -> None:
    """Turns of the loop, in which it reads what is there."""
    for _ in range(4):
        await asyncio.sleep(0)


async def whole(connection: Connection) -> bytes:
    body = bytearray()
    while part := await connection.read():
        body += part
    return bytes(body)


def chunk(part: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(part), part)


LAST_CHUNK = b"0\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def cuts(reply: bytes, at: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(offset % (len(reply) + 1) for offset in at), len(reply)]
    return [reply[start:stop] for start, stop in itertools.pairwise(edges) if start < stop]
