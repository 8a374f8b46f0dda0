"""A caller over gRPC. Bytes are those of the messages with their prefixes: HTTP/2's own are out of sight here."""

import asyncio
import base64
from time import perf_counter

import grpc
import grpc.aio

from deltawire.callers import failures
from deltawire.callers.answer import Answer, Call, CallFailedError
from deltawire.callers.deployment import Deployment
from deltawire.callers.http import run_message
from deltawire.callers.readers import read_event
from deltawire.v1 import functions_pb2 as pb

_PREFIX = 5
_DIAL_SECONDS = 10.0
_OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),  # a connection for each caller
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_receive_message_length", -1),
    ("grpc.enable_retries", 0),
)
_NONE = "no HTTP/2 connection"
_PORT = "gRPC listens on a port of its own, 50051 unless told otherwise, in TLS (https://) only with a certificate"


class GrpcCaller:
    def __init__(self, deployment: Deployment) -> None:
        self._metadata = tuple(deployment.headers.items())
        target = deployment.authority
        if deployment.origin.tls:
            self._channel = grpc.aio.secure_channel(target, grpc.ssl_channel_credentials(), options=_OPTIONS)
        else:
            self._channel = grpc.aio.insecure_channel(target, options=_OPTIONS)
        # Not the generated stub: it has no types.
        self._stream: grpc.aio.UnaryStreamMultiCallable[pb.RunRequest, pb.Event] = self._channel.unary_stream(
            "/deltawire.v1.Functions/Stream", pb.RunRequest.SerializeToString, pb.Event.FromString
        )
        self._list: grpc.aio.UnaryUnaryMultiCallable[pb.ListRequest, pb.ListResponse] = self._channel.unary_unary(
            "/deltawire.v1.Functions/List", pb.ListRequest.SerializeToString, pb.ListResponse.FromString
        )
        self._ready = False

    async def call(self, call: Call, answer: Answer) -> None:
        await self._dial(answer)
        answer.sent = perf_counter()
        stream = self._stream(run_message(call), metadata=self._metadata)
        try:
            async for event in stream:
                now = perf_counter()
                answer.received += event.ByteSize() + _PREFIX
                piece, answer.tokens = read_event(event)
                if piece:
                    answer.pieces.append(now)
                elif event.HasField("finished"):
                    answer.ended = now
        except grpc.aio.AioRpcError as error:
            raise _failed(error) from error
        finally:
            stream.cancel()
        if not answer.ended:
            raise failures.ended_early()

    async def listed(self) -> list[pb.Function]:
        """Raises ``CallFailedError``."""
        await self._dial(Answer())
        try:
            return list((await self._list(pb.ListRequest(), metadata=self._metadata)).functions)
        except grpc.aio.AioRpcError as error:
            raise _failed(error) from error

    async def close(self) -> None:
        await self._channel.close()

    async def _dial(self, answer: Answer) -> None:
        if self._ready:
            return
        began = perf_counter()
        try:
            async with asyncio.timeout(_DIAL_SECONDS):
                await self._connected()
        except TimeoutError:
            raise CallFailedError("unreachable", f"{_NONE} within {_DIAL_SECONDS:g} s: {_PORT}") from None
        self._ready = True
        answer.dialing = perf_counter() - began

    async def _connected(self) -> None:
        while (state := self._channel.get_state(try_to_connect=True)) is not grpc.ChannelConnectivity.READY:
            if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                raise CallFailedError("unreachable", f"{_NONE} came about: {_PORT}")
            await self._channel.wait_for_state_change(state)


def _failed(error: grpc.aio.AioRpcError) -> CallFailedError:
    metadata = {str(name): value for name, value in error.trailing_metadata() or ()}
    details = metadata.get("grpc-status-details-bin", b"")
    if isinstance(details, str):
        details = base64.b64decode(details)
    reason = failures.from_details(details) or f"grpc_{error.code().name.lower()}"
    return CallFailedError(reason, error.details() or "")
