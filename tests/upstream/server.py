"""The upstream: accepts connections, gives each request its script, keeps what happened."""

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from tests.upstream.connection import Connection
from tests.upstream.exchange import Exchange
from tests.upstream.request import Request
from tests.upstream.script import Step, reply


class Upstream:
    """An HTTP/1.1 server on an ephemeral port of 127.0.0.1 that plays scripts; see the package's docstring."""

    def __init__(self, port: int = 0) -> None:
        self._wanted_port = port
        self.exchanges: list[Exchange] = []
        """Every request that arrived whole, in the order of arrival, with what became of it."""
        self.accepted = 0
        """How many connections have been accepted."""
        self.most_open = 0
        """How many connections were open at the same time at most."""
        self.dropped = 0
        """How many requests `drop_next_reuse` has cut off; they are in no other count."""
        self._open: dict[Connection, int] = {}
        self._scripts: deque[tuple[Step, ...]] = deque()
        self._answer_with: Callable[[Request], Sequence[Step] | None] = lambda _: None
        self._always: tuple[Step, ...] | None = None
        self._failures: list[BaseException] = []
        self._reuses_to_drop = 0
        self._arrived: asyncio.Queue[Exchange] = asyncio.Queue()
        self._all_left = asyncio.Event()
        self._server: asyncio.Server
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self), "127.0.0.1", self._wanted_port, backlog=1024
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for connection in list(self._open):
            await connection.abandon()
        await self._server.wait_closed()
        if self._failures and error is None:
            raise AssertionError(f"the upstream saw trouble: {self._failures}") from self._failures[0]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[Request]:
        return [exchange.request for exchange in self.exchanges]

    @property
    def open(self) -> int:
        """How many connections are open now."""
        return len(self._open)

    def script(self, *steps: Step) -> None:
        """Queue a script for one request."""
        self._scripts.append(steps)

    def answer_with(self, function: Callable[[Request], Sequence[Step] | None]) -> None:
        """Where no script is queued, let the function make one from the request; None passes the request on."""
        self._answer_with = function

    def always(self, *steps: Step) -> None:
        """What every request gets that nothing else answers."""
        self._always = steps

    async def requested(self, *, within: float = 30.0) -> Exchange:
        """The next request, in the order of arrival; each call gives another one."""
        try:
            return await asyncio.wait_for(self._arrived.get(), within)
        except TimeoutError:
            message = f"no further request within {within} s; so far {len(self.exchanges)}"
            raise AssertionError(message) from None

    async def all_left(self, *, within: float = 10.0) -> None:
        """Return when no connection is open."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._all_left.wait() if self._open else asyncio.sleep(0), within)
        if self._open:
            raise AssertionError(f"{len(self._open)} connections are still open after {within} s")

    async def close_idle(self) -> None:
        """Close the connections on which no request runs, as a server does whose keep-alive time is over."""
        idle = [connection for connection in self._open if connection.idle]
        for connection in idle:
            connection.close()
        for connection in idle:
            await connection.lost.wait()

    def drop_next_reuse(self, times: int = 1) -> None:
        """Reset the connection when the next request on a used connection begins, before it is read.

        So a client meets the race in which the server closes a pooled connection just as the client takes it.
        """
        self._reuses_to_drop += times

    async def all_played(self, *, within: float = 10.0) -> None:
        """Return when every queued script has been asked for and has come to its end."""
        for exchange in self.exchanges:
            await exchange.finished(within=within)
        if self._scripts:
            raise AssertionError(f"{len(self._scripts)} scripts were never asked for")

    # What a connection asks of its director.

    def connected(self, connection: Connection) -> int:
        self.accepted += 1
        self._open[connection] = self.accepted
        self.most_open = max(self.most_open, len(self._open))
        self._all_left.clear()
        return self.accepted

    def disconnected(self, connection: Connection) -> None:
        self._open.pop(connection, None)
        if not self._open:
            self._all_left.set()

    def failed(self, error: BaseException) -> None:
        self._failures.append(error)

    def drops_reuse(self) -> bool:
        if self._reuses_to_drop == 0:
            return False
        self._reuses_to_drop -= 1
        self.dropped += 1
        return True

    def answer(self, request: Request) -> tuple[Exchange, tuple[Step, ...]]:
        exchange = Exchange(request)
        self.exchanges.append(exchange)
        self._arrived.put_nowait(exchange)
        return exchange, self._script_for(request)

    def _script_for(self, request: Request) -> tuple[Step, ...]:
        if self._scripts:
            return self._scripts.popleft()
        made = self._answer_with(request)
        if made is not None:
            return tuple(made)
        if self._always is not None:
            return self._always
        self.failed(AssertionError(f"no script was left for {request.method} {request.path}"))
        problem = {"error": {"message": "the test has no script for this request", "type": "unscripted"}}
        return (reply(500, json.dumps(problem).encode()),)
