"""``grpc.health.v1.Health``: SERVING, and NOT_SERVING from the moment when the server is to stop."""

import asyncio
from collections.abc import Iterable
from typing import TypeAlias

import grpc
from grpc import aio
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

_Handlers: TypeAlias = "dict[str, grpc.RpcMethodHandler[HealthCheckRequest, HealthCheckResponse]]"

SERVICE: str = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name

_Context: TypeAlias = "aio.ServicerContext[HealthCheckRequest, HealthCheckResponse]"


class Health:
    """The same for the server as a whole, which has the name of nothing, and for each service."""

    def __init__(self, services: Iterable[str]) -> None:
        self._known = {"", *services}
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        self._stopping.set()

    def handler(self) -> grpc.GenericRpcHandler:
        codec = (HealthCheckRequest.FromString, HealthCheckResponse.SerializeToString)
        methods: _Handlers = {
            "Check": grpc.unary_unary_rpc_method_handler(self.check, *codec),
            "Watch": grpc.unary_stream_rpc_method_handler(self.watch, *codec),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    async def check(self, request: HealthCheckRequest, context: _Context) -> HealthCheckResponse:
        if request.service not in self._known:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no service named '{request.service[:100]}'")
        return self._state()

    async def watch(self, request: HealthCheckRequest, context: _Context) -> None:
        """Ends after NOT_SERVING, for it would keep the server from ending."""
        if request.service not in self._known:
            await context.write(HealthCheckResponse(status=HealthCheckResponse.SERVICE_UNKNOWN))
        elif not self._stopping.is_set():
            await context.write(self._state())
        await self._stopping.wait()
        if request.service in self._known:
            await context.write(self._state())

    def _state(self) -> HealthCheckResponse:
        stopping = self._stopping.is_set()
        return HealthCheckResponse(status=HealthCheckResponse.NOT_SERVING if stopping else HealthCheckResponse.SERVING)
