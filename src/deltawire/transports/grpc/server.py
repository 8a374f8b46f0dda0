"""The gRPC server: all that is served on its port, from the first call to the last."""

import asyncio

from grpc import aio
from grpc_reflection.v1alpha import reflection

from deltawire.domain.errors import DeclarationError
from deltawire.engine.engine import Engine
from deltawire.transports.grpc import health
from deltawire.transports.grpc.calls import Calls
from deltawire.transports.grpc.credentials import credentials
from deltawire.transports.grpc.functions import Functions
from deltawire.transports.grpc.settings import GrpcSettings
from deltawire.transports.protobuf import ARTICLE, FUNCTIONS

_LEAST_BETWEEN_PINGS = 1_000
"""Milliseconds. Most clients ping every ten seconds at most; who pings more often than this is cut."""


class GrpcServer:
    """To be made within the loop that it serves in."""

    def __init__(self, engine: Engine, settings: GrpcSettings, article_function: str) -> None:
        """Raises ``DeclarationError`` for a certificate that cannot be used."""
        self._credentials = credentials(settings)
        self._server = aio.server(options=_options(settings))
        self._calls = Calls(engine)
        self._health = health.Health([FUNCTIONS, ARTICLE])
        functions = Functions(engine, self._calls, settings, article_function)
        self._server.add_generic_rpc_handlers((*functions.handlers(), self._health.handler()))
        named = [FUNCTIONS, ARTICLE, health.SERVICE, reflection.SERVICE_NAME]
        reflection.enable_server_reflection(named, self._server)

    @property
    def calls_under_way(self) -> int:
        return len(self._calls)

    async def start(self, host: str, port: int) -> None:
        """Raises ``DeclarationError`` where the port is not to be had."""
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if self._credentials is None:
                self._server.add_insecure_port(address)
            else:
                self._server.add_secure_port(address, self._credentials)
        except RuntimeError:
            raise DeclarationError(f"cannot serve gRPC on {address}; choose another with --grpc-port") from None
        await self._server.start()

    async def drain(self, seconds: float) -> None:
        """Take no more calls, and end when those under way have ended, or when the time is over."""
        self._health.stop()
        stopping = asyncio.ensure_future(self._server.stop(seconds))
        ended = asyncio.ensure_future(self._calls.ended())
        await asyncio.wait([stopping, ended], return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        # Calls that run nothing, as those for reflection, may stay open for ever.
        await self._server.stop(None)
        await stopping

    async def close(self) -> None:
        """At once; what is under way ends as canceled."""
        self._calls.cancel()
        await self._server.stop(None)
        await self._calls.ended()


def _options(settings: GrpcSettings) -> list[tuple[str, int]]:
    return [
        # A port that is taken is an error, and not shared with whoever has it.
        ("grpc.so_reuseport", 0),
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.keepalive_time_ms", min(round(settings.heartbeat * 1000), 2**31 - 1)),
        # Callers may ping too, with calls under way or without.
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", _LEAST_BETWEEN_PINGS),
        ("grpc.http2.max_pings_without_data", 0),
    ]
