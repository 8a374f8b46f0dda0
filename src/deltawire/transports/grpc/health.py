"""``grpc.health.v1.Health``: SERVING, and NOT_SERVING from the moment when the server is to stop."""

import asyncio
from collections.abc import Iterable

import grpc
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from deltawire.domain.errors import RunError
from deltawire.transports import protobuf
from deltawire.transports.grpc.reply import Context

SERVICE: str = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name


class Health:
    """The same for the server as a whole, which has the name of nothing, and for each service."""

    def __init__(self, services: Iterable[str]) -> None:
        self._known = {"", *services}
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        self._stopping.set()

    def methods(self) -> "dict[str, grpc.RpcMethodHandler[bytes, bytes]]":
        return {
            "Check": grpc.unary_unary_rpc_method_handler(self.check),
            "Watch": grpc.unary_stream_rpc_method_handler(self.watch),
        }

    async def check(self, body: bytes, context: Context) -> bytes:
        service = await _service(body, context)
        if service not in self._known:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no service named '{service[:100]}'")
        return self._state()

    async def watch(self, body: bytes, context: Context) -> None:
        """Ends after NOT_SERVING, for it would keep the server from ending."""
        service = await _service(body, context)
        if service not in self._known:
            await context.write(_encoded(HealthCheckResponse.SERVICE_UNKNOWN))
        elif not self._stopping.is_set():
            await context.write(self._state())
        await self._stopping.wait()
        if service in self._known:
            await context.write(self._state())

    def _state(self) -> bytes:
        stopping = self._stopping.is_set()
        return _encoded(HealthCheckResponse.NOT_SERVING if stopping else HealthCheckResponse.SERVING)


async def _service(body: bytes, context: Context) -> str:
    """The service that is asked for. A body that is no message would be an exception in the log, if gRPC read it."""
    message = HealthCheckRequest()
    try:
        protobuf.parse(message, body)
    except RunError as error:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, error.message)
    return message.service


def _encoded(status: HealthCheckResponse.ServingStatus) -> bytes:
    return HealthCheckResponse(status=status).SerializeToString()
