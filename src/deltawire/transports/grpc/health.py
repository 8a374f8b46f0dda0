"""``grpc.health.v1.Health``: SERVING, and NOT_SERVING from the moment when the server is to stop."""

import asyncio
from collections.abc import Iterable

import grpc
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

SERVICE: str = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name

_Context = aio.ServicerContext[HealthCheckRequest, HealthCheckResponse]


class Health(health_pb2_grpc.HealthServicer):
    """The same for the server as a whole, which has the name of nothing, and for each service."""

    def __init__(self, services: Iterable[str]) -> None:
        self._known = {"", *services}
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        self._stopping.set()

    async def Check(self, request: HealthCheckRequest, context: _Context) -> HealthCheckResponse:  # noqa: N802
        if request.service not in self._known:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no service named '{request.service[:100]}'")
        return self._state()

    async def Watch(self, request: HealthCheckRequest, context: _Context) -> None:  # noqa: N802
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
