"""Callers who can leave as real ones do: on a bare socket, or with gRPC's own client over a relay that can be cut."""

import asyncio
import base64
import errno
import socket
import struct
from collections.abc import Awaitable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, Self

import grpc

from tests.matrix.grpc_caller import GrpcCaller
from tests.matrix.notation import Call
from tests.matrix.rpc import SERVICE
from tests.matrix.server import Server
from tests.matrix.stage import http_caller
from tests.matrix.transports import GRPC

_RESET = struct.pack("ii", 1, 0)


class Visitor(Protocol):
    async def has_arrived(self) -> None:
        """Return when the server has read the call, or will have before it answers another caller."""
        ...

    async def has_begun(self) -> None:
        """Return when there is the first sign of a reply to a stream, be it a heartbeat."""
        ...

    async def has_read(self, piece: bytes) -> None:
        """Return when the first piece of a stream is there."""
        ...

    async def is_cut(self) -> None:
        """Return when the server has cut the call of a caller who has read nothing."""
        ...

    def leave(self, way: str) -> None: ...

    def close(self) -> None:
        """Let go of what is left when the call is over."""
        ...


def ways(transport: str) -> list[str]:
    """How a caller can leave: gRPC can take back one call and keep the connection."""
    return ["cancel", "reset"] if transport in GRPC else ["close", "reset"]


async def visit(transport: str, server: Server, call: Call) -> Visitor:
    """Has sent its request whole."""
    return await (GrpcVisitor if transport in GRPC else HttpVisitor).calling(transport, server, call)


@dataclass(slots=True)
class HttpVisitor:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def calling(cls, transport: str, server: Server, call: Call) -> Self:
        visitor = cls(*await asyncio.open_connection("127.0.0.1", server.port))
        visitor.call(transport, server, call)
        await visitor.writer.drain()
        return visitor

    def call(self, transport: str, server: Server, call: Call) -> None:
        request = http_caller(transport, server).request(call)
        lines = [f"{request.method} {request.url.raw_path.decode()} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in request.headers.items()]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + request.content)

    async def has_arrived(self) -> None:
        pass

    async def has_begun(self) -> None:
        await self._chunk()

    async def has_read(self, piece: bytes) -> None:
        chunk = await self._chunk()
        assert piece in chunk or piece in base64.b64decode(chunk, validate=True)

    async def _chunk(self) -> bytes:
        async with asyncio.timeout(20):
            await self.reader.readuntil(b"\r\n\r\n")
            size = await self.reader.readuntil(b"\r\n")
            return await self.reader.readexactly(int(size, 16))

    async def is_cut(self) -> None:
        raw: socket.socket = self.writer.get_extra_info("socket")
        async with asyncio.timeout(20):
            while raw.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != errno.ECONNRESET:  # noqa: ASYNC110 - the kernel sets no event
                await asyncio.sleep(0.01)

    def leave(self, way: str) -> None:
        end_transport(self.writer.transport, way)

    def close(self) -> None:
        self.leave("close")


@dataclass(slots=True)
class GrpcVisitor:
    channel: grpc.Channel
    made: Any
    relay: "Relay"

    @classmethod
    async def calling(cls, transport: str, server: Server, call: Call) -> Self:
        relay = await Relay.to(server.grpc_port)
        caller = GrpcCaller(transport, relay.port)
        channel = caller.channel()
        return cls(channel, caller.begin(channel, call), relay)

    async def has_arrived(self) -> None:
        untyped: Any = self.channel
        await _soon(asyncio.to_thread(untyped.unary_unary(SERVICE + "List"), b""))

    async def has_begun(self) -> None:
        await _soon(asyncio.to_thread(self.made.initial_metadata))

    async def has_read(self, piece: bytes) -> None:
        while piece not in await _soon(asyncio.to_thread(next, self.made)):
            pass

    async def is_cut(self) -> None:
        with suppress(grpc.RpcError):
            await _soon(asyncio.to_thread(_read_all, self.made))
        assert self.made.code() is grpc.StatusCode.DEADLINE_EXCEEDED

    def leave(self, way: str) -> None:
        if way == "cancel":
            self.made.cancel()
        else:
            self.relay.end(way)

    def close(self) -> None:
        self.channel.close()
        self.relay.end("close")


class Relay:
    """One TCP connection from a port of its own to another; it ends as it is told to."""

    def __init__(self) -> None:
        self._server: asyncio.Server
        self._writers: list[asyncio.StreamWriter] = []
        self._pumps: list[asyncio.Task[None]] = []
        self._ended = False
        self.port = 0

    @classmethod
    async def to(cls, port: int) -> Self:
        relay = cls()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            relay._server.close()
            relay._writers = [writer]
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
            relay._writers = [far_writer, writer]
            if relay._ended:  # before it reached that far
                relay.end("close")
                return
            relay._pumps = [asyncio.create_task(_pump(*ends)) for ends in ((reader, far_writer), (far_reader, writer))]

        relay._server = await asyncio.start_server(accept, "127.0.0.1", 0)
        relay.port = relay._server.sockets[0].getsockname()[1]
        return relay

    def end(self, way: str) -> None:
        self._ended = True
        self._server.close()  # whoever has not connected by now does so no more
        for pump in self._pumps:
            pump.cancel()
        for writer in self._writers:
            if not writer.transport.is_closing():
                end_transport(writer.transport, way)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while received := await reader.read(65536):
            writer.write(received)
            await writer.drain()
    writer.close()


def end_transport(transport: asyncio.WriteTransport, way: str) -> None:
    if way == "reset":
        raw: socket.socket = transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()  # closes the socket; what the linger says decides whether FIN or RST goes out


def _read_all(made: Iterator[bytes]) -> None:
    for _ in made:
        pass


async def _soon(awaited: Awaitable[Any]) -> Any:
    async with asyncio.timeout(20):
        return await awaited
