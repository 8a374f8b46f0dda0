"""The tries of a run: at one model again after a failure that cost nothing, then at the next model, until there is
content."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Piece
from deltawire.domain.ports import Attempt, Completion
from deltawire.domain.prompt import Message
from deltawire.engine.deadlines import Deadline
from deltawire.engine.plan import Way

_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 8.0
_LONGEST_PAUSE_BEFORE_FALLBACK = 1.0

_ANOTHER_MAY_DO = frozenset(
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


class Attempts:
    """Asks the models of a variant, in their order, until one brings content; from there on nobody else is asked.

    The same model is asked again only where no work can have started or the provider said so (``RunError.retry_safe``).
    A pause that the deadline would not survive is not begun: the caller gets the error, with its ``retry_after``, while
    it can still use it. Nor is a long one while there is another model to ask.
    """

    __slots__ = ("_asked", "_deadline", "_others", "attempt", "count", "model", "way")

    def __init__(self, way: Way, attempt: Attempt, deadline: Deadline) -> None:
        """``attempt`` is what is asked of each model; its own model does not matter."""
        self.way = way
        self.attempt = attempt
        self._deadline = deadline
        self._asked = 0
        self.model, *self._others = way.models
        """The one that is being asked, or has answered."""
        self.count = 0

    async def pieces(self) -> AsyncGenerator[Piece | Completion, None]:
        """The pieces of the one attempt that brought content (or ended without any), and its completion."""
        while True:
            self.count += 1
            self._asked += 1
            committed = False
            self._deadline.begin_attempt()
            try:
                async with aclosing(self.model.provider.stream(replace(self.attempt, model=self.model.id))) as pieces:
                    async for piece in pieces:
                        committed = True  # from here on the caller has seen output: no retry
                        yield piece
                return
            except RunError as error:
                if committed:
                    raise
                pause = self._pause_after(error)
            except asyncio.CancelledError:
                failure = None if committed or not self._others else self._deadline.claim_attempt(_ANOTHER_MAY_DO)
                if failure is None:
                    raise
                pause = self._pause_after(failure)
            self._deadline.end_attempt()
            await asyncio.sleep(pause)

    def again(self, messages: tuple[Message, ...]) -> AsyncGenerator[Piece | Completion, None]:
        """Ask the model that has answered once more, with these messages after the first ones."""
        self.count += 1
        self._deadline.begin_attempt()
        again = replace(self.attempt, model=self.model.id, messages=(*self.attempt.messages, *messages))
        return self.model.provider.stream(again)

    def _pause_after(self, error: RunError) -> float:
        """How long to wait before the next attempt, which may be one at the next model. Raises the error if there is
        none to be made."""
        pause = self._backoff(error)
        patience = _LONGEST_PAUSE_BEFORE_FALLBACK if self._others else self._deadline.remaining()
        if error.retry_safe and self._asked <= self.way.options.retries and pause < patience:
            return pause
        if not self._others or error.reason not in _ANOTHER_MAY_DO:
            raise error
        self.model = self._others.pop(0)
        self._asked = 0
        return 0.0

    def _backoff(self, error: RunError) -> float:
        """Exponential, with jitter on its upper half, and never shorter than what the provider asked for."""
        pause = min(_FIRST_PAUSE * 2 ** (self._asked - 1), _LONGEST_PAUSE) * random.uniform(0.5, 1.0)
        return max(pause, error.retry_after or 0.0)
