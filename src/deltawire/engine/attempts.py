"""The tries of a run: at one model again after a failure that cost nothing, then at the next model, until there is
content."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import TypeAlias

from msgspec.structs import replace

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Piece
from deltawire.domain.ports import Attempt, Completion
from deltawire.domain.prompt import Message
from deltawire.engine.breaker import Trial
from deltawire.engine.deadlines import Deadline
from deltawire.engine.hedge import ANOTHER_MAY_DO, Leg, raced
from deltawire.engine.plan import Model, Way

Stream: TypeAlias = AsyncGenerator[Piece | Completion, None]

_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 8.0
_LONGEST_PAUSE_BEFORE_FALLBACK = 1.0


class Attempts:
    """Asks the models of a variant, in their order, until one brings content; from there on nobody else is asked.

    The same model is asked again only where no work can have started or the provider said so (``RunError.retry_safe``).
    A pause that the deadline would not survive is not begun: the caller gets the error, with its ``retry_after``, while
    it can still use it. Nor is a long one while there is another model to ask. A model whose breaker is open is passed
    over.
    """

    __slots__ = ("_asked", "_deadline", "_others", "_trial", "attempt", "count", "model", "way")

    def __init__(self, way: Way, attempt: Attempt, deadline: Deadline) -> None:
        """``attempt`` is what is asked of each model; its own model does not matter."""
        self.way = way
        self.attempt = attempt
        self._deadline = deadline
        self._asked = 0
        self._others = list(way.models)
        self._trial: Trial | None = None
        self.model = way.models[0]
        """The one that is being asked, or has answered."""
        self.count = 0

    def answer(self) -> "Answering":
        """Ask until an attempt brings content, or ends without any."""
        return Answering(self, self._begun)

    def again(self, messages: tuple[Message, ...]) -> "Answering":
        """Ask the model that has answered once more, with these messages after the first ones."""
        attempt = replace(self.attempt, messages=(*self.attempt.messages, *messages))
        return Answering(self, partial(self._begun_again, attempt))

    async def _begun(self) -> tuple[Stream, Piece | Completion | None]:
        shut = self._turn_to_next()
        if shut is not None:
            raise shut
        while True:
            try:
                stream = self._asking()
                first = await anext(stream, None)  # from here on the caller sees output: no retry
                self._report_answer()
                return stream, first
            except RunError as error:
                self.report(error)
                failure = error
            except asyncio.CancelledError as error:
                self.report(error)
                claimed = self._deadline.claim_attempt(ANOTHER_MAY_DO) if self._others else None
                if claimed is None:
                    raise
                failure = claimed
            self._deadline.end_attempt()
            await self._get_ready_after(failure)

    async def _begun_again(self, attempt: Attempt) -> tuple[Stream, Piece | Completion | None]:
        stream = self._plain(attempt)
        try:
            return stream, await anext(stream, None)
        except (RunError, asyncio.CancelledError) as error:
            self.report(error)
            raise

    def _asking(self) -> Stream:
        hedge_after = self.way.options.hedge_after
        if hedge_after is None:
            return self._plain(self.attempt)
        assert self._trial is not None, "a model is asked when its breaker has let us in"
        return raced(self._leg(self.model, self._trial), hedge_after, self._second, self._settle)

    def _plain(self, attempt: Attempt) -> Stream:
        self._count()
        self._deadline.begin_attempt()
        if attempt.model != self.model.id:
            attempt = replace(attempt, model=self.model.id)
        return self.model.provider.stream(attempt)

    def _leg(self, model: Model, trial: Trial) -> Leg:
        self._count()
        return Leg(model, trial, self.attempt, self.way.options.timeouts, self._deadline)

    def _second(self) -> Leg | None:
        """The next model that may be asked, or the same one again."""
        for model in (*self._others, self.model):
            try:
                trial = model.breaker.admit()
            except RunError:
                continue
            if model in self._others:
                self._others.remove(model)
            return self._leg(model, trial)
        return None

    def _settle(self, leg: Leg) -> None:
        """Of two legs this one is left: its answer, or its failure, is the run's."""
        self.model, self._trial = leg.model, leg.trial

    def _count(self) -> None:
        self.count += 1
        self._asked += 1

    async def _get_ready_after(self, error: RunError) -> None:
        """Wait until the same model may be asked again, or turn to the next. Raises the error if there is nobody to be
        asked."""
        pause = self._backoff(error)
        patience = self._deadline.remaining()
        if self._others:
            patience = min(patience, _LONGEST_PAUSE_BEFORE_FALLBACK)
        again = error.retry_safe and self._asked <= self.way.options.retries and not self.model.breaker.is_open
        if again and pause < patience:
            await asyncio.sleep(pause)
            try:
                self._trial = self.model.breaker.admit()
            except RunError:
                pass  # meanwhile others have found it ill, too
            else:
                return
        if error.reason not in ANOTHER_MAY_DO or self._turn_to_next() is not None:
            raise error

    def _turn_to_next(self) -> RunError | None:
        """Turn to the next model that may be asked. ``None``, or why there is none: of those that are left alone, the
        one that may be asked the soonest."""
        soonest = RunError(Reason.upstream_unreachable, "no model is left to be asked")
        while self._others:
            model = self._others.pop(0)
            try:
                self._trial = model.breaker.admit()
            except RunError as shut:
                if soonest.retry_after is None or (shut.retry_after or 0.0) < soonest.retry_after:
                    soonest = shut
                continue
            self.model, self._asked = model, 0
            return None
        return soonest

    def _backoff(self, error: RunError) -> float:
        """Exponential, with jitter on its upper half, and never shorter than what the provider asked for."""
        pause = min(_FIRST_PAUSE * 2 ** (self._asked - 1), _LONGEST_PAUSE) * random.uniform(0.5, 1.0)
        return max(pause, error.retry_after or 0.0)

    # What the breaker hears. A run that its caller left says nothing about the model.

    def _report_answer(self) -> None:
        if self._trial is not None:
            self._trial.answered()

    def report_completion(self) -> None:
        if self._trial is not None:
            self._trial.completed()

    def report(self, error: RunError | asyncio.CancelledError) -> None:
        failure = self._deadline.error if isinstance(error, asyncio.CancelledError) else error
        if self._trial is not None and failure is not None:
            self._trial.failed(failure.reason)


class Answering:
    """While an answer is read: ``async with`` gives the first piece, or the completion, or nothing; and what brings the
    next one, until it raises ``StopAsyncIteration``. Not an iterator of both: that would be one more generator for each
    token to pass. At the end the attempt is closed, and the breaker hears how it went."""

    __slots__ = ("_attempts", "_begin", "_stream")

    def __init__(
        self, attempts: Attempts, begin: Callable[[], Awaitable[tuple[Stream, Piece | Completion | None]]]
    ) -> None:
        self._attempts = attempts
        self._begin = begin
        self._stream: Stream

    async def __aenter__(self) -> tuple[Piece | Completion | None, Callable[[], Awaitable[Piece | Completion]]]:
        self._stream, first = await self._begin()
        return first, self._stream.__anext__

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._stream.aclose()
        except (RunError, asyncio.CancelledError) as failure:
            self._attempts.report(failure)
            raise
        if error is None:
            self._attempts.report_completion()
        elif isinstance(error, RunError | asyncio.CancelledError):
            self._attempts.report(error)
