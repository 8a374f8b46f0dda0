"""Callers over HTTP/1.1 on bare sockets, who keep, leave, reset, stall and clog their connections."""

import asyncio
import errno
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from random import Random

import httpx
from tests.contract.visitors import end_transport
from tests.matrix.reply import Reply
from tests.matrix.server import Server
from tests.matrix.stage import http_caller

from soak.play import Manner, Play, Seen
from soak.reply_reader import ReplyReader
from soak.seen import seen_in_http
from soak.wires import STREAMS

_PATIENCE = 20.0
_LITTLE_ROOM = 16 * 1024


class HttpCaller:
    """Calls over every wire that is a request and its reply."""

    def __init__(self, server: Server, random: Random) -> None:
        self._server = server
        self._random = random
        self._kept: list[_Connection] = []

    async def call(self, wire: str, play: Play) -> Seen:
        async with self._connection(play) as connection:
            if play.manner is Manner.sends_bytes:
                connection.writer.write(play.sent)
                await connection.read_to_the_end()
            else:
                await self._ask(connection, wire, play)
        if connection.left:
            return Seen(left=True)
        reply = connection.reader.reply()
        if play.manner is Manner.sends_bytes:
            return Seen(
                ends=[reply.head.split(" ")[1]] if reply.complete else [], cut=not reply.complete, raw=f"{reply}"
            )
        return seen_in_http(wire, self._as_the_matrix_has_it(wire, reply))

    async def close(self) -> None:
        """Closes what is kept."""
        while self._kept:
            self._kept.pop().end("close")

    async def _ask(self, connection: "_Connection", wire: str, play: Play) -> None:
        request = self._request(wire, play)
        head, body = _head(request), request.content
        match play.manner:
            case Manner.leaves_its_body | Manner.stalls_its_body:
                connection.writer.write(head + body[: len(body) // 2])
                if play.manner is Manner.leaves_its_body:
                    await connection.written()
                    connection.leave("close")  # a reset would take back what has been sent
                else:
                    await connection.read_to_the_end()
            case Manner.reads | Manner.reads_slowly:
                connection.writer.write(head + body)
                await connection.read_to_the_end(slowly=play.manner is Manner.reads_slowly)
            case Manner.takes_nothing:
                connection.writer.write(head + body)
                await connection.is_reset()
            case _:
                connection.writer.write(head + body)
                await _leave(connection, wire, play, self._random)

    @asynccontextmanager
    async def _connection(self, play: Play) -> AsyncGenerator["_Connection"]:
        """One that was kept, or a new one. It is kept again where its reply came whole."""
        clogs = play.manner is Manner.takes_nothing
        if self._kept and not clogs and play.manner is not Manner.sends_bytes and self._random.random() < 0.7:
            connection = self._kept.pop()
        else:
            connection = await _connect(self._server.port, _LITTLE_ROOM if clogs else None)
        try:
            yield connection
        except BaseException:
            connection.end("reset")
            raise
        asked = play.manner in (Manner.reads, Manner.reads_slowly)  # whole: nothing of it can be taken for the next
        if asked and connection.reader.complete and connection.reader.keep_alive:
            kept = _Connection(connection.stream, connection.writer)
            self._kept.append(kept)
        else:
            connection.end("close")

    def _request(self, wire: str, play: Play) -> httpx.Request:
        if wire != "article":
            return http_caller(wire, self._server).request(play.call)
        message = json.loads(play.call.input)["message"]
        path = "/streaming/fastapi/" if self._random.random() < 0.5 else "/streaming/starlette/"
        body = play.call.body if play.call.body is not None else json.dumps({"prompt": message}).encode()
        headers = {"content-type": "application/json"}
        return httpx.Request("POST", self._server.url + path, content=body, headers=headers)

    def _as_the_matrix_has_it(self, wire: str, reply: Reply) -> Reply:
        """RPC is shown by its lines, as the matrix reads them."""
        if wire == "article":
            return reply
        return http_caller(wire, self._server).reply(reply.head, reply.body, complete=reply.complete)


class _Connection:
    def __init__(self, stream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.stream = stream
        self.writer = writer
        self.reader = ReplyReader()
        self.left = False

    async def read_to_the_end(self, *, slowly: bool = False) -> None:
        while not self.reader.complete and await self.read(2048 if slowly else 65536):
            if slowly:
                await asyncio.sleep(0.01)

    async def read(self, size: int = 65536) -> bool:
        """Whether something came."""
        try:
            data = await self.stream.read(size)
        except ConnectionError:
            return False
        if data:
            self.reader.feed(data)
        return bool(data)

    async def written(self) -> None:
        with suppress(ConnectionError):
            await self.writer.drain()

    async def is_reset(self) -> None:
        """Return when the server has given up a caller who does not read."""
        bare: socket.socket = self.writer.get_extra_info("socket")
        while bare.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != errno.ECONNRESET:  # noqa: ASYNC110 - the kernel sets no event
            await asyncio.sleep(0.05)

    def leave(self, way: str) -> None:
        self.left = True
        self.end(way)

    def end(self, way: str) -> None:
        if not self.writer.transport.is_closing():
            end_transport(self.writer.transport, way)


async def _connect(port: int, room: int | None) -> _Connection:
    bare = socket.socket()
    bare.setblocking(False)
    if room is not None:
        bare.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    try:
        await asyncio.get_running_loop().sock_connect(bare, ("127.0.0.1", port))
    except BaseException:
        bare.close()
        raise
    return _Connection(*await asyncio.open_connection(sock=bare))


async def _leave(connection: _Connection, wire: str, play: Play, random: Random) -> None:
    await play.gate.reached(within=_PATIENCE)
    match play.manner:
        case Manner.leaves_when_begun if wire in STREAMS:
            while not connection.reader.body and await connection.read():
                pass
        case Manner.leaves_at_content if wire in STREAMS:
            while not connection.reader.body and await connection.read():
                pass
        case Manner.leaves_at_the_end:
            play.gate.open()
            await asyncio.sleep(random.choice((0, 0, 0.001, 0.002, 0.005)))
        case _:
            pass
    connection.leave("reset" if play.resets else "close")


def _head(request: httpx.Request) -> bytes:
    lines = [f"{request.method} {request.url.raw_path.decode()} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()
