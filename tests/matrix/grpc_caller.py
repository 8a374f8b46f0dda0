"""gRPC, called with ``grpcio``; its messages are read with protobuf's own library.

The blocking client, in a thread: ``grpc.aio`` loses the initial metadata of a stream whose status comes with it.
"""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import grpc

from deltawire.v1 import functions_pb2 as pb
from tests.matrix import rpc
from tests.matrix.notation import Call, Script, Stop
from tests.matrix.reply import Reply
from tests.matrix.transports import UNARY
from tests.waits import LONGEST


class Made(Protocol):
    """A call under way; of Stream it is an iterator too, of Invoke a future."""

    def cancel(self) -> bool: ...
    def code(self) -> grpc.StatusCode: ...
    def details(self) -> str | None: ...
    def initial_metadata(self) -> Iterable[tuple[str, str | bytes]] | None: ...
    def trailing_metadata(self) -> Iterable[tuple[str, str | bytes]] | None: ...


@dataclass(slots=True)
class Reading:
    frames: list[str] = field(default_factory=list[str])
    left: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)


class GrpcCaller:
    """Calls one method of a server; each call has a channel of its own."""

    def __init__(self, transport: str, port: int) -> None:
        self.transport = transport
        self._address = f"127.0.0.1:{port}"

    async def call(self, call: Call, script: Script | None = None) -> Reply:
        reading = Reading()
        with self.channel() as channel:
            made = self.begin(channel, call)
            conductor = asyncio.create_task(self._conduct(script.stops if script else [], made, reading))
            reader = asyncio.create_task(self.read(made, reading))
            try:
                async with asyncio.timeout(LONGEST):
                    await asyncio.shield(reader)
            finally:
                made.cancel()
                conductor.cancel()
                await asyncio.wait([conductor, reader])
            return grpc_reply(made, reading)

    def channel(self) -> grpc.Channel:
        return grpc.insecure_channel(self._address, [("grpc.use_local_subchannel_pool", 1)])

    def begin(self, channel: grpc.Channel, call: Call) -> Made:
        request = rpc.run_request(call.rpc_request()).SerializeToString() if call.body is None else call.body
        compression = grpc.Compression.Gzip if call.coding else None
        untyped: Any = channel  # its stubs leave open what goes in and out
        if self.transport in UNARY:
            invoke = untyped.unary_unary(rpc.SERVICE + "Invoke")
            return invoke.future(request, timeout=call.deadline, compression=compression)
        stream = untyped.unary_stream(rpc.SERVICE + "Stream")
        return stream(request, timeout=call.deadline, compression=compression)

    async def read(self, made: Made, reading: Reading) -> None:
        loop = asyncio.get_running_loop()

        def read() -> None:
            try:
                for message in _messages(made, unary=self.transport in UNARY):
                    reading.frames.append(f"00 {self.shown(message)}")
                    loop.call_soon_threadsafe(reading.news.set)
            except (grpc.RpcError, grpc.FutureCancelledError):
                return  # the call is asked for its status later

        await asyncio.to_thread(read)

    def shown(self, message: bytes) -> str:
        """As the page writes it."""
        return rpc.message(pb.Finished if self.transport in UNARY else pb.Event, message)

    async def _conduct(self, stops: list[Stop], made: Made, reading: Reading) -> None:
        seen = 0
        for stop in stops:
            await stop.gate.reached()
            match stop.kind:
                case "leave":
                    reading.left = True
                    made.cancel()
                    return
                case "hold" if self.transport not in UNARY:
                    await asyncio.to_thread(made.initial_metadata)
                case "pause" if self.transport not in UNARY:
                    while not stop.shown_in("".join(reading.frames[seen:]).encode(), self.transport):
                        reading.news.clear()
                        await reading.news.wait()
                    seen = len(reading.frames)
                case _:
                    pass
            stop.gate.open()


def _messages(made: Any, *, unary: bool) -> Iterator[bytes]:
    if unary:
        yield made.result()
    else:
        yield from made


def grpc_reply(made: Made, reading: Reading) -> Reply:
    head = "".join(f"{name}: {value}\n" for name, value in _fields(made.initial_metadata()))
    lines = reading.frames
    if not reading.left:
        status = [("grpc-status", str(made.code().value[0]))]
        if message := made.details():
            status.append(("grpc-message", message))
        lines = [*lines, *rpc.trailers([*status, *_fields(made.trailing_metadata())])]
    return Reply(head, b"", complete=not reading.left, shown="\n".join(lines))


def _fields(metadata: Iterable[tuple[str, str | bytes]] | None) -> list[tuple[str, str | bytes]]:
    return [(name, value) for name, value in metadata or ()]
