"""How the server stops: in order at the first signal, at once at the second.

In: signals. Out: a server that says that it is not ready, then takes no more runs, then ends those that it has, each
with an error that its caller gets to see.
"""

import asyncio
import logging
import signal
from typing import TYPE_CHECKING, Any

import uvicorn

from deltawire.domain.limits import FAREWELL
from deltawire.engine.engine import Engine
from deltawire.settings import Settings

if TYPE_CHECKING:
    from deltawire.transports.grpc.server import GrpcServer

logger = logging.getLogger("deltawire")


class Stop:
    """What is asked for by signals, the first to end in order and the second at once, or by a supervisor."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()
        self.http_over = asyncio.Event()
        """The HTTP server has nothing more to do, which it finds out by itself."""

    def on_signals(self, *, second_at_once: bool = True) -> None:
        """Not at once at a second one where it may be the first once more: an init system tells each process of a
        service, and so does its supervisor."""
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(signum, self._stop if second_at_once else self.asked.set)

    def _stop(self) -> None:
        if self.asked.is_set():
            self.at_once.set()
        self.asked.set()


class Shutdown:
    """Of both servers at once. ``http`` and ``rpc`` are those that there are."""

    def __init__(
        self, engine: Engine, settings: Settings, http: uvicorn.Server | None, rpc: "GrpcServer | None"
    ) -> None:
        self._engine = engine
        self._delay = settings.drain_delay
        self._timeout = settings.drain_timeout
        self._http = http
        self._rpc = rpc

    async def run(self, stop: Stop) -> None:
        """Wait for a signal, and return when there is nothing more to wait for."""
        await stop.asked.wait()
        self._announce()
        at_once = asyncio.ensure_future(stop.at_once.wait())
        if self._delay:  # else whoever is told so must not be served a moment later
            self._leave()
            await _within(self._delay, at_once)
        self._engine.admission.drain()
        if self._http is not None:
            self._http.should_exit = True
        ending = [asyncio.ensure_future(waiting) for waiting in (self._http_ended(stop), self._rpc_ended())]
        all_ended = asyncio.gather(*ending)
        await _within(self._timeout, all_ended, at_once)
        if not all_ended.done():
            self._engine.end()
            if self._rpc is not None:
                ending.append(asyncio.ensure_future(self._rpc.close()))
            await asyncio.wait([asyncio.gather(*ending)], timeout=FAREWELL)
        if self._http is not None:
            self._http.force_exit = True
        await asyncio.gather(*ending)
        at_once.cancel()

    def _leave(self) -> None:
        """Nothing more is to be sent to us; but whoever does not know yet is still served."""
        self._engine.admission.leaving()
        if self._rpc is not None:
            self._rpc.leaving()

    def _announce(self) -> None:
        runs = len(self._engine.under_way)
        if runs:
            seconds = self._delay + self._timeout
            logger.info("stopping: calls under way: %d; they get %g s, or until a second signal", runs, seconds)

    async def _http_ended(self, stop: Stop) -> None:
        if self._http is not None:
            await stop.http_over.wait()

    async def _rpc_ended(self) -> None:
        if self._rpc is not None:
            # This side ends the calls when the time is over, together with all others.
            await self._rpc.drain(2 * self._timeout + FAREWELL)


async def _within(seconds: float, *waiting: "asyncio.Future[Any]") -> None:
    """Wait for one of them, no longer than that. What is cut short here is cancelled by nobody but its owner."""
    await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
