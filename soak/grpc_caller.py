"""Callers over gRPC: many calls on one channel, and some on connections of their own that can be reset."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

import grpc
from tests.contract.visitors import Relay
from tests.matrix.answers import events
from tests.matrix.grpc_caller import GrpcCaller as MatrixCaller
from tests.matrix.grpc_caller import Made, Reading, grpc_reply
from tests.matrix.notation import Call
from tests.matrix.reply import Reply
from tests.matrix.server import Server
from typing_extensions import override

from deltawire.article import stream_pb2 as pb
from soak.play import Manner, Play, Seen
from soak.provider import Provider
from soak.seen import seen_in_events

_CHANNELS = 4
_PATIENCE = 20.0
_ARTICLE = "/stream.ResponseStreamingService/stream"


class GrpcCaller:
    def __init__(self, server: Server, provider: Provider, random: Random) -> None:
        self._provider = provider
        self._port = server.grpc_port
        self._random = random
        self._channels: list[grpc.Channel] = []

    async def call(self, wire: str, key: str, play: Play) -> Seen:
        if play.manner is Manner.sends_bytes:
            return await self._send_bytes(play)
        caller = _ArticleCaller(self._port) if wire == "article_grpc" else MatrixCaller(wire, self._port)
        async with self._channel(play) as (channel, relay):
            made = caller.begin(channel, play.call)
            try:
                if play.leaves:
                    await self._leave(made, relay, play)
                    return Seen(left=True)
                if play.manner is Manner.takes_nothing:
                    await self._provider.given_up(key, within=_PATIENCE)
                reading = Reading()
                await caller.read(made, reading)
                reply = reply_of(made, reading)
            finally:
                made.cancel()
        seen = seen_in_events(events(caller.transport, reply), reply.written())
        seen.run_id = reply.run_id
        if wire == "article_grpc" and made.code() is grpc.StatusCode.OK:
            seen.ends.append("finished")
        return seen

    async def close(self) -> None:
        while self._channels:
            self._channels.pop().close()

    @asynccontextmanager
    async def _channel(self, play: Play) -> AsyncGenerator[tuple[grpc.Channel, Relay | None]]:
        """One that many calls share; one of its own for a caller that will reset its connection."""
        if play.resets:
            relay = await Relay.to(self._port)
            with _open(relay.port) as channel:
                yield channel, relay
            relay.end("close")
            return
        if len(self._channels) < _CHANNELS:
            self._channels.append(_open(self._port))
        yield self._random.choice(self._channels), None

    async def _leave(self, made: Made, relay: Relay | None, play: Play) -> None:
        await play.gate.reached(within=_PATIENCE)
        if play.manner is Manner.leaves_at_the_end:
            play.gate.open()
            await asyncio.sleep(self._random.choice((0, 0, 0.001, 0.002, 0.005)))
        if relay is None:
            made.cancel()
        else:
            relay.end("reset")

    async def _send_bytes(self, play: Play) -> Seen:
        stream, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(play.sent)
        with suppress(ConnectionError):
            while await stream.read(65536):
                pass
        writer.close()
        return Seen(cut=True)


class _ArticleCaller(MatrixCaller):
    """The older streaming chat's one method; its pieces are shown as the text that they are."""

    def __init__(self, port: int) -> None:
        super().__init__("grpc", port)

    @override
    def begin(self, channel: grpc.Channel, call: Call) -> Made:
        prompt = json.loads(call.input)["message"]
        untyped: Any = channel  # its stubs leave open what goes in and out
        stream = untyped.unary_stream(_ARTICLE)
        request = pb.UserRequest(prompt=prompt).SerializeToString() if call.body is None else call.body
        return stream(request, timeout=call.deadline)

    @override
    def shown(self, message: bytes) -> str:
        return json.dumps({"text": pb.LlmResponse.FromString(message).llm_content})


def reply_of(made: Made, reading: Reading) -> Reply:
    """Where the client's own deadline ended the call, without the trailers that may have come just then."""
    by_itself = made.code() is grpc.StatusCode.DEADLINE_EXCEEDED and made.details() == "Deadline Exceeded"
    return grpc_reply(_EndedByClient(made) if by_itself else made, reading)


class _EndedByClient:
    """A call that its client ended, without what the server was saying meanwhile: grpcio shows a status of its own and
    the trailers of the server's, and the two are of different ends."""

    def __init__(self, made: Made) -> None:
        self.cancel = made.cancel
        self.code = made.code
        self.details = made.details
        self.initial_metadata = made.initial_metadata

    def trailing_metadata(self) -> None:
        return None


def _open(port: int) -> grpc.Channel:
    return grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.use_local_subchannel_pool", 1)])
