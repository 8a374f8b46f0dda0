"""Notices a caller that takes nothing of what is sent to it.

In: how much of a reply it has taken. Out: one call when that has been the same for too long.
"""

import asyncio
from collections.abc import Callable

_LOOKS = 4
"""In one limit. A caller is given up between the limit and a quarter more."""


class Progress:
    """Looks now and then, so that a token costs no clock and no timer. To be stopped when the reply is over."""

    __slots__ = ("_cut", "_every", "_last", "_loop", "_still", "_taken", "_timer")

    def __init__(self, limit: float, taken: Callable[[], int | None], cut: Callable[[], None]) -> None:
        """``taken`` is a count that grows with each step, or ``None`` where nothing waits for the caller."""
        self._loop = asyncio.get_running_loop()
        self._every = limit / _LOOKS
        self._taken = taken
        self._cut = cut
        self._last: int | None = None
        self._still = 0
        self._timer = self._loop.call_later(self._every, self._look)

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        taken = self._taken()
        self._still = self._still + 1 if taken is not None and taken == self._last else 0
        self._last = taken
        if self._still >= _LOOKS:
            self._cut()
        else:
            self._timer = self._loop.call_later(self._every, self._look)
