"""Callers: grpcio's own client, on connections of their own, and a way to tear those."""

import asyncio
import socket
import struct
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from grpc import aio
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from deltawire.v1 import functions_pb2 as pb

Stream: TypeAlias = "aio.UnaryStreamCall[pb.RunRequest, pb.Event]"

_ON_ITS_OWN = ("grpc.use_local_subchannel_pool", 1)  # else channels to one address share a connection
_RESET = struct.pack("ii", 1, 0)


class Functions:
    """``deltawire.v1.Functions`` with types, which generated stubs have none of."""

    def __init__(self, channel: aio.Channel) -> None:
        self.list: aio.UnaryUnaryMultiCallable[pb.ListRequest, pb.ListResponse] = channel.unary_unary(
            "/deltawire.v1.Functions/List", pb.ListRequest.SerializeToString, pb.ListResponse.FromString
        )
        self.invoke: aio.UnaryUnaryMultiCallable[pb.RunRequest, pb.Finished] = channel.unary_unary(
            "/deltawire.v1.Functions/Invoke", pb.RunRequest.SerializeToString, pb.Finished.FromString
        )
        self.stream: aio.UnaryStreamMultiCallable[pb.RunRequest, pb.Event] = channel.unary_stream(
            "/deltawire.v1.Functions/Stream", pb.RunRequest.SerializeToString, pb.Event.FromString
        )


class Health:
    """``grpc.health.v1.Health``, likewise."""

    def __init__(self, channel: aio.Channel) -> None:
        codec = (HealthCheckRequest.SerializeToString, HealthCheckResponse.FromString)
        self.check: aio.UnaryUnaryMultiCallable[HealthCheckRequest, HealthCheckResponse] = channel.unary_unary(
            "/grpc.health.v1.Health/Check", *codec
        )
        self.watch: aio.UnaryStreamMultiCallable[HealthCheckRequest, HealthCheckResponse] = channel.unary_stream(
            "/grpc.health.v1.Health/Watch", *codec
        )


@asynccontextmanager
async def functions(
    port: int, credentials: grpc.ChannelCredentials | None = None, options: Sequence[tuple[str, int | str]] = ()
) -> AsyncGenerator[Functions]:
    async with channel(port, credentials, options) as opened:
        yield Functions(opened)


def channel(
    port: int, credentials: grpc.ChannelCredentials | None = None, options: Sequence[tuple[str, int | str]] = ()
) -> aio.Channel:
    target, all_options = f"127.0.0.1:{port}", [_ON_ITS_OWN, *options]
    if credentials is None:
        return aio.insecure_channel(target, all_options)
    return aio.secure_channel(target, credentials, all_options)


def said(message: str = "hi", function: str = "say") -> pb.RunRequest:
    return pb.RunRequest(function=function, input_json=f'{{"message":"{message}"}}')


def reason(error: aio.AioRpcError) -> ErrorInfo:
    """What the status's details say."""
    for name, value in error.trailing_metadata():
        if name == "grpc-status-details-bin":
            assert isinstance(value, bytes)
            status, info = Status.FromString(value), ErrorInfo()
            assert (status.code, status.message) == (error.code().value[0], error.details())
            assert status.details[0].Unpack(info)
            return info
    raise AssertionError(f"a status without details: {error}")


class Wire:
    """A network between callers and the server, that can be torn."""

    def __init__(self, port: int) -> None:
        self._towards = port
        self.port = 0
        self._writers: list[asyncio.StreamWriter] = []
        self._pumps: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Wire":
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.tear("close")
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def tear(self, way: str) -> None:
        """All connections, as a process that ends does (close) or a machine that comes up again (reset)."""
        for writer in self._writers:
            raw: socket.socket | None = writer.get_extra_info("socket")
            if way == "reset" and raw is not None and raw.fileno() >= 0:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._towards)
        self._writers += [writer, far_writer]
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            pump = asyncio.create_task(_pump(source, sink))
            self._pumps.add(pump)


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while piece := await source.read(65536):
            sink.write(piece)
            await sink.drain()
    except OSError:
        pass
    finally:
        sink.transport.abort()
