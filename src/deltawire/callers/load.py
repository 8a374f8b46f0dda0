"""Callers in a closed loop: each calls again as soon as it has its answer, until there have been enough.

In: how many and how long. Out: the answers, in the order in which they ended.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter, process_time

from deltawire.callers.answer import Answer, Call, Caller, CallFailedError

_HOPELESS = 5
"""So many calls that failed, and none that did not, are enough."""


@dataclass(frozen=True, slots=True)
class Plan:
    callers: int
    requests: int | None
    seconds: float | None
    """No call is started after so many; those under way are waited for."""
    timeout: float
    """Seconds for one call."""


@dataclass(slots=True)
class Load:
    """What has come of it so far; all of it may be looked at while it runs."""

    plan: Plan
    answers: list[Answer] = field(default_factory=list[Answer])
    started: int = 0
    failed: int = 0
    under_way: int = 0
    began: float = 0.0
    ended: float = 0.0
    busy: float = 0.0
    """The share of one core that this process took."""
    hopeless: bool = False
    interrupted: bool = False

    async def run(self, call: Call, connect: Callable[[], Caller]) -> None:
        """Being cancelled, it leaves all calls and returns; whoever it was that asked for it sees ``interrupted``."""
        self.began, before = perf_counter(), process_time()
        tasks = [asyncio.create_task(self._work(call, connect())) for _ in range(self.plan.callers)]
        try:
            await asyncio.gather(*tasks)
        except asyncio.CancelledError:
            self.interrupted = True
            if (running := asyncio.current_task()) is not None:
                running.uncancel()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.ended = perf_counter()
            self.busy = (process_time() - before) / max(self.ended - self.began, 1e-9)

    def _may_start(self) -> bool:
        plan = self.plan
        late = plan.seconds is not None and perf_counter() >= self.began + plan.seconds
        enough = plan.requests is not None and self.started >= plan.requests
        return not (late or enough or self.hopeless)

    async def _work(self, call: Call, caller: Caller) -> None:
        try:
            while self._may_start():
                self.started += 1
                self.under_way += 1
                try:
                    await self._one(call, caller)
                finally:
                    self.under_way -= 1
        finally:
            await caller.close()

    async def _one(self, call: Call, caller: Caller) -> None:
        answer = Answer()
        try:
            async with asyncio.timeout(self.plan.timeout):
                await caller.call(call, answer)
        except CallFailedError as error:
            answer.failure = error
        except TimeoutError:
            what = "the whole answer" if answer.pieces else "a first piece"
            message = f"{what} did not come within {self.plan.timeout:g} s: give it longer with --timeout"
            answer.failure = CallFailedError("late", message)
        if not answer.ended:
            answer.ended = perf_counter()
        self.answers.append(answer)
        self.failed += answer.failure is not None
        self.hopeless = len(self.answers) >= max(_HOPELESS, self.plan.callers) and self.failed == len(self.answers)
