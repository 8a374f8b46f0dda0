"""A provider that says what a test wrote down, with no network at all."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator

from deltawire.domain.errors import RunError
from deltawire.domain.events import FinishReason, Piece, Reasoning, Text, Usage
from deltawire.domain.ports import Attempt, Completion

Step = str | Reasoning | Completion | RunError | asyncio.Event
"""A text piece; a reasoning piece; the end; a failure; or a gate at which the script waits until the test opens it."""


class Scripted:
    """Plays scripts. Implements ``domain.ports.Provider``.

    ``say`` queues the steps of the next attempt; with nothing queued, an attempt plays the steps given at the start. A
    script without a completion or failure ends as a finished answer. ``attempts`` holds every attempt as it was made.
    """

    def __init__(self, *always: Step) -> None:
        self._always = always
        self._queued: deque[tuple[Step, ...]] = deque()
        self.attempts: list[Attempt] = []
        self.closed_early = 0
        """How many attempts were closed, or cancelled, before their script was over."""

    def say(self, *steps: Step) -> None:
        self._queued.append(steps)

    async def stream(self, attempt: Attempt) -> AsyncGenerator[Piece | Completion, None]:
        self.attempts.append(attempt)
        steps = self._queued.popleft() if self._queued else self._always
        ended = False
        try:
            for step in steps:
                match step:
                    case str():
                        yield Text(step)
                    case asyncio.Event():
                        await step.wait()
                    case RunError():
                        raise step
                    case Completion():
                        ended = True
                        yield step
                    case Reasoning():
                        yield step
            if not ended:
                yield Completion(finish_reason=FinishReason.stop, usage=Usage(1, len(steps)))
        except (asyncio.CancelledError, GeneratorExit):
            self.closed_early += not ended
            raise

    async def close(self) -> None:
        pass
