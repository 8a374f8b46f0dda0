"""The tries of a run at its model: again after a failure that cost nothing, until there is content."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing

from deltawire.domain.errors import RunError
from deltawire.domain.events import Piece
from deltawire.domain.ports import Attempt, Completion
from deltawire.engine.deadlines import Deadline
from deltawire.engine.plan import Plan

_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 8.0


class Attempts:
    """Asks a provider, and asks again where that is safe.

    It is safe before the first content, and only where no work can have started or the provider said so
    (``RunError.retry_safe``). A pause that the deadline would not survive is not begun: the caller gets the error, with
    its ``retry_after``, while it can still use it.
    """

    __slots__ = ("_attempt", "_deadline", "count", "plan")

    def __init__(self, plan: Plan, attempt: Attempt, deadline: Deadline) -> None:
        self.plan = plan
        self._attempt = attempt
        self._deadline = deadline
        self.count = 0

    async def pieces(self) -> AsyncGenerator[Piece | Completion, None]:
        """The pieces of the one attempt that brought content (or ended without any), and its completion."""
        while True:
            self.count += 1
            committed = False
            self._deadline.begin_attempt()
            try:
                async with aclosing(self.plan.model.provider.stream(self._attempt)) as pieces:
                    async for piece in pieces:
                        committed = True  # from here on the caller has seen output: no retry
                        yield piece
                return
            except RunError as error:
                pause = self._pause(error)
                if committed or not error.retry_safe or self.count > self.plan.function.settings.retries:
                    raise
                if pause >= self._deadline.remaining():
                    raise
            self._deadline.end_attempt()
            await asyncio.sleep(pause)

    def _pause(self, error: RunError) -> float:
        """Exponential, with full jitter on its upper half, and never shorter than what the provider asked for."""
        pause = min(_FIRST_PAUSE * 2 ** (self.count - 1), _LONGEST_PAUSE) * random.uniform(0.5, 1.0)
        return max(pause, error.retry_after or 0.0)
