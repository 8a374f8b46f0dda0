"""The gRPC server: all that is served on its port, from the first call to the last."""

import asyncio
import math

from deltawire.domain.errors import DeclarationError
from deltawire.domain.limits import FAREWELL
from deltawire.engine.engine import Engine
from deltawire.transports.grpc import aio_server, health, reflection
from deltawire.transports.grpc.calls import Calls
from deltawire.transports.grpc.credentials import credentials, unusable
from deltawire.transports.grpc.functions import Functions
from deltawire.transports.grpc.settings import GrpcSettings
from deltawire.transports.protobuf import ARTICLE, FUNCTIONS

_LEAST_BETWEEN_PINGS = 1_000
"""Milliseconds. Most clients ping every ten seconds at most; who pings more often than this is cut."""

_MOST_PENDING = 100_000
"""Calls that have come and wait for the loop's attention, which takes less than a millisecond for each."""

_NOBODY_WAITS_AFTER = 0.05
"""Seconds in which no call is taken, though the loop is free to take some."""
_WAITING_TAKEN_WITHIN = 1.0
"""Seconds. Callers who do not care that the server is not ready may come for ever."""


class GrpcServer:
    """To be made within the loop that it serves in."""

    def __init__(self, engine: Engine, settings: GrpcSettings, article_function: str, *, shared: bool = False) -> None:
        """``shared``: other processes of ours serve on the same port. Raises ``DeclarationError`` for a certificate
        that cannot be used."""
        self._settings = settings
        self._credentials = credentials(settings)
        self._calls = Calls(engine, settings)
        self._health = health.Health([FUNCTIONS, ARTICLE])
        services: aio_server.Services = {
            **Functions(engine, self._calls, settings, article_function).services(),
            health.SERVICE: self._health.methods(),
        }
        services = {**services, reflection.SERVICE: reflection.methods([*services, reflection.SERVICE])}
        self._server = aio_server.server(services, _options(settings, shared=shared))

    @property
    def calls_under_way(self) -> int:
        return len(self._calls)

    async def start(self, host: str, port: int) -> None:
        """Raises ``DeclarationError`` where the port is not to be had, or gRPC cannot use the certificate."""
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if self._credentials is None:
                self._server.add_insecure_port(address)
            else:
                self._server.add_secure_port(address, self._credentials)
        except RuntimeError:
            if self._credentials is not None:  # the port was free a moment ago
                raise unusable(self._settings) from None
            raise DeclarationError(
                f"cannot serve gRPC on {address}; choose another with --host or --grpc-port"
            ) from None
        await self._server.start()

    def leaving(self) -> None:
        """Calls are still taken, but no more should be sent."""
        self._health.stop()

    async def drain(self, seconds: float) -> None:
        """Take no more calls, and end when those under way have ended, or when the time is over. Each that is cut is
        told so."""
        self._health.stop()
        await self._take_those_who_wait()
        stopping = asyncio.ensure_future(self._server.stop(2 * seconds))  # the time is kept here
        ended = asyncio.ensure_future(self._calls.ended())
        await asyncio.wait([stopping, ended], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        await self._cut()
        # Calls that run nothing, as those for reflection, may stay open for ever.
        await self._server.stop(None)
        await stopping

    async def _take_those_who_wait(self) -> None:
        """Calls that have come wait in gRPC until the loop has time for them, one after another. Where the server stops
        before, it cancels them without a word, which no caller takes for a reason to call again."""
        end = asyncio.get_running_loop().time() + _WAITING_TAKEN_WITHIN
        come = -1
        while come != self._calls.come and asyncio.get_running_loop().time() < end:
            come = self._calls.come
            await asyncio.sleep(_NOBODY_WAITS_AFTER)

    async def close(self) -> None:
        """At once; what is under way is told so, if it listens."""
        await self._cut()
        await self._server.stop(None)
        await self._calls.ended()

    async def _cut(self) -> None:
        self._calls.end()
        telling = asyncio.ensure_future(self._calls.ended())
        await asyncio.wait([telling], timeout=FAREWELL)
        telling.cancel()


def _options(settings: GrpcSettings, *, shared: bool) -> list[tuple[str, int]]:
    return [
        # Else a port that is taken is an error, and not shared with whoever has it.
        ("grpc.so_reuseport", int(shared)),
        # By itself gRPC cancels some of more than a thousand calls that come at once.
        ("grpc.server.max_pending_requests", _MOST_PENDING),
        ("grpc.server.max_pending_requests_hard_limit", _MOST_PENDING),
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.server_handshake_timeout_ms", _milliseconds(settings.handshake_timeout)),
        ("grpc.keepalive_time_ms", _milliseconds(settings.heartbeat)),
        # Callers may ping too, with calls under way or without.
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", _LEAST_BETWEEN_PINGS),
        ("grpc.http2.max_pings_without_data", 0),
    ]


def _milliseconds(seconds: float) -> int:
    return min(math.ceil(seconds * 1000), 2**31 - 1)
