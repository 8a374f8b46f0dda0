"""The limits of one run, kept by one timer.

The timer compares timestamps, so that a token costs two clock reads and no timer of its own. When a limit is over, or
when the run is stopped from outside, the task that waits for the provider is interrupted with the means of
``asyncio.timeout``: cancelled, and the cancellation claimed back. This happens only while the run waits: a task that is
busy sending an event to its caller is never touched, it finds the error when it comes back for more.
"""

import asyncio
import sys
from collections.abc import Container
from math import inf

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.limits import Timeouts

if sys.version_info >= (3, 12):
    _current_task = asyncio.current_task
else:  # it is written in Python there, which a token would feel
    _current_task = asyncio.tasks._current_tasks.get  # pyright: ignore


class Deadline:
    """Implements ``domain.ports.Pulse`` for the attempts of one run."""

    __slots__ = (
        "_began_in",
        "_cancelled_before",
        "_connect_at",
        "_first_token_at",
        "_idle",
        "_interrupting",
        "_later",
        "_loop",
        "_seen",
        "_timeouts",
        "_timer",
        "_timer_at",
        "_total_at",
        "error",
        "total",
        "waiting",
    )

    def __init__(self, timeouts: Timeouts, total: float, arrived: float) -> None:
        """``total`` is the run's own limit in seconds, counted from ``arrived`` on the loop's clock."""
        self._loop = asyncio.get_running_loop()
        self._timeouts = timeouts
        self.total = total
        self._total_at = arrived + total
        self._connect_at = inf
        self._first_token_at = inf
        self._idle = inf
        self._seen = 0.0
        self.waiting: asyncio.Task[object] | None = None
        """Who waits for the provider. ``None`` while the run is turned to its caller: how long that takes is not the
        provider's fault."""
        self._interrupting: asyncio.Task[object] | None = None
        self._began_in = asyncio.current_task()
        self._cancelled_before = self._began_in.cancelling() if self._began_in is not None else 0
        self.error: RunError | None = None
        self._later: RunError | None = None
        # Looked at as soon as the first of the limits can be over: none of them then needs a timer when it begins.
        self._set(arrived + min(total, timeouts.connect, timeouts.first_token, timeouts.idle))

    # The pulse: what the provider says.

    def connecting(self) -> None:
        self._connect_at = self._loop.time() + self._timeouts.connect
        self._arm()

    def connected(self) -> None:
        self._connect_at = inf

    def received(self) -> None:
        self._seen = self._loop.time()

    # What the engine says.

    def begin_attempt(self) -> None:
        """From here the first content is awaited. Where a run has had some, silence is what counts."""
        self._connect_at = inf
        if self._idle == inf:
            self._first_token_at = self._loop.time() + self._timeouts.first_token
        self._arm()

    def end_attempt(self) -> None:
        """The attempt failed: until the next one, only the total limit counts."""
        self._connect_at = self._first_token_at = inf

    def commit(self) -> None:
        """The first content is there: from here the provider may not fall silent."""
        self._first_token_at = inf
        self._idle = self._timeouts.idle
        self._seen = self._loop.time()
        self._arm()

    def resume(self) -> None:
        """The run waits for the provider again. Raises the error for which it was stopped meanwhile."""
        if self.error is not None:
            raise self.error
        self.waiting = _current_task(self._loop)
        self._seen = self._loop.time()

    def remaining(self) -> float:
        """Seconds until the total limit."""
        return self._total_at - self._loop.time()

    def stop(self, error: RunError) -> None:
        """End the run with this error, at once if it waits for the provider. The first stop counts, but if it turns out
        to end an attempt only: then the next one does."""
        if self.error is not None:
            self._later = self._later or error
            return
        self.error = error
        if self.waiting is not None:
            self._interrupting = self.waiting
            self.waiting.cancel()

    def claim(self) -> RunError | None:
        """In the handler of a ``CancelledError``: the error, if the cancellation was ours and nobody else's."""
        task, self._interrupting = self._interrupting, None
        if task is None or task.uncancel() > self._before(task):
            return None
        return self.error

    def claim_attempt(self, reasons: Container[Reason]) -> RunError | None:
        """The same, where it ends only the attempt: for one of these ``reasons``, after which the run goes on. Raises
        the error for which the run was stopped while the attempt was ending."""
        if self.error is None or self.error.reason not in reasons:
            return None
        error = self.claim()
        if error is not None:
            self.error = self._later
            if self.error is not None:
                raise self.error
            self._connect_at = self._first_token_at = inf
            self._set(self._due())
        return error

    def cancelled_from_outside(self) -> bool:
        """Whether somebody cancels the task that runs this run: a ``CancelledError`` may as well be one of a task that
        the function's own code has waited for."""
        task = asyncio.current_task()
        return task is not None and task.cancelling() > self._before(task)

    def close(self) -> None:
        """The run is over. Whatever interruption nobody claimed is taken back, so that the task can go on."""
        self.waiting = None
        self.claim()
        self._timer.cancel()

    def _before(self, task: asyncio.Task[object]) -> int:
        """How many cancellations of the task are older than the run. A caller may wait for each event in a new task."""
        return self._cancelled_before if task is self._began_in else 0

    def _arm(self) -> None:
        due = self._due()
        if due < self._timer_at:
            self._timer.cancel()
            self._set(due)

    def _set(self, at: float) -> None:
        self._timer_at = at  # uvloop's handle of a timer that is due within half a millisecond knows no time
        self._timer = self._loop.call_at(at, self._check)

    def _due(self) -> float:
        return min(self._total_at, self._connect_at, self._first_token_at, self._idle_at())

    def _idle_at(self) -> float:
        # While the caller is being served, the silence has not begun: look again after a whole limit.
        return (self._seen if self.waiting is not None else self._loop.time()) + self._idle

    def _check(self) -> None:
        now = self._loop.time()
        if now >= self._total_at:
            self.stop(_timeout(Reason.total_timeout, "the run did not end", self.total))
        elif now >= self._connect_at:
            self.stop(not_connected(self._timeouts))
        elif now >= self._first_token_at:
            self.stop(said_nothing(self._timeouts))
        elif now >= self._idle_at():
            self.stop(_timeout(Reason.idle_timeout, "the model fell silent in the middle of its answer", self._idle))
        else:
            self._set(self._due())


def not_connected(timeouts: Timeouts) -> RunError:
    return _timeout(Reason.connect_timeout, "no connection to the provider", timeouts.connect)


def said_nothing(timeouts: Timeouts) -> RunError:
    return _timeout(Reason.first_token_timeout, "the model said nothing", timeouts.first_token)


def _timeout(reason: Reason, what: str, seconds: float) -> RunError:
    limit = reason.removesuffix("_timeout")
    return RunError(reason, f"{what} within {seconds:g} s (limit: {limit})")
