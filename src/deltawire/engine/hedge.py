"""A second attempt beside one that is slow to begin: whichever brings content first is the answer.

In: the first attempt, and where to get a second. Out: the pieces of the one that won. The other is cancelled before the
first piece goes out, which closes its connection. Each has limits of its own for connecting and for the first content:
a second attempt never makes a run fail that would have succeeded without it.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable

from msgspec.structs import replace

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Piece
from deltawire.domain.limits import Timeouts
from deltawire.domain.ports import Attempt, Completion, Pulse
from deltawire.engine.breaker import Trial
from deltawire.engine.deadlines import not_connected, said_nothing
from deltawire.engine.plan import Model

ANOTHER_MAY_DO = frozenset(
    {
        Reason.connect_timeout,
        Reason.first_token_timeout,
        Reason.upstream_unreachable,
        Reason.upstream_error,
        Reason.upstream_truncated,
        Reason.upstream_invalid,
        Reason.upstream_auth,
        Reason.upstream_rate_limited,
        Reason.outcome_unknown,
    }
)
"""Failures of a model or its provider. What is wrong with the call, or was refused for its content, stays so."""


class Leg:
    """One of the attempts, waiting for its first piece in a task of its own. Implements ``domain.ports.Pulse``."""

    __slots__ = ("_connect", "_first_token", "_loop", "_over", "_run", "_timeouts", "first", "model", "stream", "trial")

    def __init__(self, model: Model, trial: Trial, attempt: Attempt, timeouts: Timeouts, run: Pulse) -> None:
        """``run`` hears of what comes: after the first content its limits are those of the run."""
        self.model = model
        self.trial = trial
        self._run = run
        self._timeouts = timeouts
        self._loop = asyncio.get_running_loop()
        self._over: RunError | None = None
        self._connect: asyncio.TimerHandle | None = None
        self.stream = model.provider.stream(replace(attempt, model=model.id, pulse=self))
        self.first = self._loop.create_task(self._begin())
        self._first_token = self._loop.call_later(timeouts.first_token, self._end, said_nothing)
        self.first.add_done_callback(self._begun)

    async def _begin(self) -> Piece | Completion | None:
        return await anext(self.stream, None)

    def connecting(self) -> None:
        self.connected()
        self._connect = self._loop.call_later(self._timeouts.connect, self._end, not_connected)

    def connected(self) -> None:
        if self._connect is not None:
            self._connect.cancel()
            self._connect = None

    def received(self) -> None:
        self._run.received()

    def failure(self) -> RunError | None:
        """Of one whose first piece is not awaited any more: why it failed, if it is for us to say."""
        if self.first.cancelled():
            return self._over
        error = self.first.exception()
        return error if isinstance(error, RunError) else None

    async def close(self) -> None:
        self.first.cancel()
        await asyncio.wait([self.first])
        await self.stream.aclose()

    def _end(self, why: Callable[[Timeouts], RunError]) -> None:
        self._over = self._over or why(self._timeouts)
        self.first.cancel()

    def _begun(self, first: "asyncio.Task[Piece | Completion | None]") -> None:
        self.connected()
        self._first_token.cancel()
        if not first.cancelled():
            first.exception()  # looked at here, whoever else does not


async def raced(
    first: Leg, after: float, second: Callable[[], Leg | None], settle: Callable[[Leg], None]
) -> AsyncGenerator[Piece | Completion, None]:
    """The pieces of the leg that was the first to bring one. Raises its failure, if it was the last one running; or the
    first one's, where that says that the call itself is wrong. ``settle`` hears which one it is."""
    legs = [first]
    try:
        await asyncio.wait([first.first], timeout=after)
        hedge = None if first.first.done() else second()
        if hedge is not None:
            legs.append(hedge)
        leg = await _first_of(legs)
        settle(leg)
        for other in legs:
            if other is not leg:
                other.first.cancel()
        failure = leg.failure()
        if failure is not None:
            raise failure
        piece = leg.first.result()
        if piece is not None:
            yield piece
            async for piece in leg.stream:
                yield piece
    finally:
        for leg in legs:
            leg.first.cancel()
        for leg in legs:
            await leg.close()


async def _first_of(legs: list[Leg]) -> Leg:
    """The one that decides. What breakers should know of the others is told here."""
    running = list(legs)
    while True:
        await asyncio.wait([leg.first for leg in running], return_when=asyncio.FIRST_COMPLETED)
        done = [leg for leg in running if leg.first.done()]
        for leg in done:
            if leg.failure() is None:
                return leg
        for leg in done:
            failure = leg.failure()
            if len(running) == 1 or failure is None or (leg is legs[0] and failure.reason not in ANOTHER_MAY_DO):
                return leg
            running.remove(leg)
            leg.trial.failed(failure.reason)
