"""gRPC, called with ``grpc.aio``; its messages are read with protobuf's own library."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import grpc.aio

from deltawire.v1 import functions_pb2 as pb
from tests.matrix import rpc
from tests.matrix.notation import Call, Script, Stop
from tests.matrix.reply import Reply
from tests.matrix.server import Server
from tests.matrix.transports import UNARY

Invoke = grpc.aio.UnaryUnaryCall[bytes, bytes]
Stream = grpc.aio.UnaryStreamCall[bytes, bytes]
_TIMEOUT = 10


@dataclass(slots=True)
class _Reading:
    frames: list[str] = field(default_factory=list[str])
    news: asyncio.Condition = field(default_factory=asyncio.Condition)


class GrpcCaller:
    """Calls one method of a server; each call has a channel of its own."""

    def __init__(self, transport: str, server: Server) -> None:
        self.transport = transport
        self._address = f"127.0.0.1:{server.grpc_port}"

    async def call(self, call: Call, script: Script | None = None) -> Reply:
        reading = _Reading()
        async with grpc.aio.insecure_channel(self._address, [("grpc.enable_retries", 0)]) as channel:
            made = self.begin(channel, call)
            conductor = asyncio.create_task(self._conduct(script.stops if script else [], made, reading))
            try:
                await self._read(made, reading)
            finally:
                conductor.cancel()
                await asyncio.wait([conductor])
            return await _reply(made, reading)

    def begin(self, channel: grpc.aio.Channel, call: Call) -> Invoke | Stream:
        request = rpc.run_request(call.rpc_request()).SerializeToString() if call.body is None else call.body
        compression = grpc.Compression.Gzip if call.coding else None
        timeout = call.deadline or _TIMEOUT
        if self.transport in UNARY:
            invoke = channel.unary_unary(rpc.SERVICE + "Invoke", _as_it_is, _as_it_is)
            return invoke(request, timeout=timeout, compression=compression)
        stream = channel.unary_stream(rpc.SERVICE + "Stream", _as_it_is, _as_it_is)
        return stream(request, timeout=timeout, compression=compression)

    async def _read(self, made: Invoke | Stream, reading: _Reading) -> None:
        kind = pb.Finished if self.transport in UNARY else pb.Event
        try:
            async for message in _messages(made):
                async with reading.news:
                    reading.frames.append(f"00 {rpc.message(kind, message)}")
                    reading.news.notify_all()
        except grpc.aio.AioRpcError:
            return  # it is asked for its status later
        except asyncio.CancelledError:
            if not made.cancelled():
                raise

    async def _conduct(self, stops: list[Stop], made: Invoke | Stream, reading: _Reading) -> None:
        seen = 0
        for stop in stops:
            await stop.gate.reached()
            match stop.kind:
                case "leave":
                    made.cancel()
                    return
                case "hold" if self.transport not in UNARY:
                    await made.initial_metadata()
                case "pause" if self.transport not in UNARY:
                    async with reading.news:
                        await reading.news.wait_for(
                            lambda stop=stop, seen=seen: stop.shown_in("".join(reading.frames[seen:]).encode(), "grpc")
                        )
                        seen = len(reading.frames)
                case _:
                    pass
            stop.gate.open()


async def _messages(made: Invoke | Stream) -> AsyncIterator[bytes]:
    if isinstance(made, grpc.aio.UnaryStreamCall):
        async for message in made:
            yield message
    else:
        yield await made


async def _reply(made: Invoke | Stream, reading: _Reading) -> Reply:
    if made.cancelled():
        return Reply("", b"", complete=False, shown="\n".join(reading.frames))
    code, message = await made.code(), await made.details()
    number: int = code.value[0]
    status = [("grpc-status", str(number)), *([("grpc-message", message)] if message else [])]
    lines = rpc.trailers([*status, *_fields(await made.trailing_metadata())])
    head = "".join(f"{name}: {value}\n" for name, value in _fields(await made.initial_metadata()))
    return Reply(head, b"", complete=True, shown="\n".join([*reading.frames, *lines]))


def _fields(metadata: grpc.aio.Metadata | None) -> list[tuple[str, str | bytes]]:
    return [(name, value) for name, value in metadata or ()]


def _as_it_is(message: bytes) -> bytes:
    return message
