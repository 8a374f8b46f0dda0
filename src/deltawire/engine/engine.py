"""Runs a function. Read this first: everything else is behind one of the names on this page.

In: the name of a function and a ``RunRequest``. Out: the run's events, ending in exactly one ``finished`` or ``error``.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import aclosing
from contextvars import copy_context
from difflib import get_close_matches
from functools import partial

from msgspec import UNSET

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Event, Finished, FinishReason, Started, Text, Usage
from deltawire.domain.function import Function
from deltawire.domain.ports import Attempt, Completion, Observer
from deltawire.domain.prompt import Message, instructed, messages_of
from deltawire.domain.run import InstructedRequest, RunRecord, RunRequest, new_run_id
from deltawire.engine.attempts import Attempts
from deltawire.engine.deadlines import Deadline
from deltawire.engine.output import Answer
from deltawire.engine.plan import Plan

logger = logging.getLogger("deltawire.engine")
_FAILED = "run %s of %s failed"


class Engine:
    """Holds the functions that are served. ``pool`` runs those that may block."""

    def __init__(self, plans: Mapping[str, Plan], observers: Sequence[Observer], pool: Executor) -> None:
        self.plans = plans
        self.observers = observers
        self.pool = pool

    def arrive(self, transport: str) -> "Run":
        """A request has arrived: from here it has a run id, and its time counts."""
        return Run(self, transport)

    def plan(self, name: str) -> Plan:
        """Raises ``RunError`` (unknown_function), which names the functions that exist."""
        plan = self.plans.get(name)
        if plan is None:
            known = get_close_matches(name, self.plans) or sorted(self.plans)
            listed = ", ".join(f"'{other}'" for other in known[:10])
            raise RunError(Reason.unknown_function, f"no function named '{name[:100]}'; known: {listed}")
        return plan


class Run:
    """One call of a function, from its arrival to its terminal event. Is observed exactly once."""

    def __init__(self, engine: Engine, transport: str) -> None:
        self.id = new_run_id()
        self._engine = engine
        self._transport = transport
        self._time = asyncio.get_running_loop().time
        self._arrived = self._time()
        self._plan: Plan | None = None
        self._deadline: Deadline | None = None
        self._attempts: Attempts | None = None
        self._usage: Usage | None = None
        self._first_content: float | None = None
        self._stopped: RunError | None = None
        self._over = False

    async def events(
        self, name: str, request: RunRequest, *, whole: bool = False, strict: bool = False
    ) -> AsyncGenerator[Event, None]:
        """The run's events. Iterate them once, inside ``aclosing``: closing early closes the connection to the
        provider.

        ``whole`` says that the caller will see nothing but the outcome, which then carries the output of text functions
        too. ``strict`` turns every finish reason but ``stop`` into an error, as it is for typed functions anyway.
        """
        try:
            started, attempts, deadline = await self._begin(name, request)
            answer = Answer(attempts.plan.function, whole=whole, strict=strict)
            completion = None
            async with aclosing(attempts.pieces()) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Completion):
                        completion = piece
                        continue
                    if self._first_content is None:
                        self._first_content = self._time() - self._arrived
                        deadline.commit()
                        deadline.suspend()
                        yield started
                        deadline.resume()
                    if isinstance(piece, Text):
                        answer.add(piece.text)
                    deadline.suspend()
                    yield piece
                    deadline.resume()
            finished = self._finish(answer, completion, started.max_tokens, attempts.count)
        except RunError as error:
            yield self.refuse(error)
        except asyncio.CancelledError:
            error = self._deadline and self._deadline.claim()
            if error is not None:
                yield self.refuse(error)
            elif self._deadline is None or self._deadline.cancelled_from_outside():
                # The task that runs us is being cancelled, not the run: the caller is gone.
                self._observe(Reason.canceled, "the caller left")
                raise
            else:
                logger.exception(_FAILED, self.id, name)
                yield self.refuse(_internal())
        except GeneratorExit:
            # A limit that is over while the caller does not read cannot be told; the log tells it.
            over = (self._deadline and self._deadline.error) or RunError(Reason.canceled, "the caller left")
            self._observe(over.reason, over.message)
            raise
        except Exception:
            logger.exception(_FAILED, self.id, name)
            yield self.refuse(_internal())
        else:
            if self._first_content is None:
                yield started
            yield finished

    async def outcome(self, name: str, request: RunRequest, *, strict: bool = False) -> Finished | Error:
        """The run's terminal event, for callers who see nothing before it."""
        async with aclosing(self.events(name, request, whole=True, strict=strict)) as events:
            async for event in events:
                if isinstance(event, Finished | Error):
                    return event
        raise AssertionError("a run ends in a terminal event")

    def cancel(self, message: str = "the caller left") -> None:
        """Stop the run: it ends in ``error`` canceled, and the connection to the provider is closed at once."""
        error = RunError(Reason.canceled, message)
        if self._deadline is None:
            self._stopped = error
        else:
            self._deadline.stop(error)

    def refuse(self, error: RunError) -> Error:
        """End the run with this error. For a request that cannot be run at all, a transport calls it itself."""
        self._observe(error.reason, error.message)
        return Error(
            code=error.reason.code,
            reason=error.reason,
            message=error.message,
            run_id=self.id,
            retry_after=UNSET if error.retry_after is None else error.retry_after,
            partial=self._first_content is not None,
        )

    async def _begin(self, name: str, request: RunRequest) -> tuple[Started, Attempts, Deadline]:
        """From a name and JSON to the attempts at a model; all that can be wrong with a request is found here."""
        plan = self._plan = self._engine.plan(name)
        function = plan.function
        if request.variant is not None:
            raise RunError(Reason.unknown_variant, f"function '{name}' has no variants: leave 'variant' out")
        arguments = function.bind(bytes(request.input))
        started = self._started(plan, request)
        deadline = self._deadline = Deadline(function.settings.timeouts, started.timeout, self._arrived)
        deadline.error = self._stopped
        deadline.resume()
        messages = await self._render(function, arguments)
        if isinstance(request, InstructedRequest):
            messages = instructed(messages, request.instructions)
        deadline.resume()  # raises for a limit whose interruption the function's own code has swallowed
        attempt = Attempt(
            model=plan.model.id,
            messages=messages,
            max_tokens=started.max_tokens,
            temperature=_first(request.settings.temperature, function.settings.temperature),
            seed=request.settings.seed,
            output=function.output.schema,
            pulse=deadline,
        )
        self._attempts = Attempts(plan, attempt, deadline)
        return started, self._attempts, deadline

    def _started(self, plan: Plan, request: RunRequest) -> Started:
        settings = plan.function.settings
        return Started(
            run_id=self.id,
            function=plan.function.name,
            variant=None,
            model=plan.model.name,
            max_tokens=_lower(request.settings.max_tokens, settings.max_tokens),
            timeout=min(request.timeout or settings.timeouts.total, settings.timeouts.total),
        )

    async def _render(self, function: Function, arguments: dict[str, object]) -> tuple[Message, ...]:
        """Call the function's own code. Its exceptions are exceptions: not even ``SystemExit`` ends the server."""
        call = partial(_called, function, arguments)
        if function.is_async or function.inline:
            rendered = call()
        else:
            rendered = await asyncio.get_running_loop().run_in_executor(
                self._engine.pool, partial(copy_context().run, call)
            )
        if asyncio.iscoroutine(rendered):
            try:
                rendered = await rendered
            except SystemExit as error:
                raise RuntimeError(f"function '{function.name}' called exit") from error
        return messages_of(rendered)

    def _finish(self, answer: Answer, completion: Completion | None, max_tokens: int | None, attempts: int) -> Finished:
        if completion is None:
            raise RunError(Reason.internal, "the provider's stream ended without a completion")
        self._usage = completion.usage
        output = answer.finish(completion, max_tokens)
        self._observe(completion.finish_reason, None)
        return Finished(
            run_id=self.id,
            output=output,
            finish_reason=completion.finish_reason,
            usage=completion.usage,
            attempts=attempts,
        )

    def _observe(self, outcome: FinishReason | Reason, message: str | None) -> None:
        """The run is over. Its record is out before the terminal event is, so that whoever saw that event finds it."""
        if self._over:
            return
        self._over = True
        if self._deadline is not None:
            self._deadline.close()
        record = RunRecord(
            run_id=self.id,
            transport=self._transport,
            function=self._plan and self._plan.function.name,
            variant=None,
            model=self._plan and self._plan.model.name,
            outcome=outcome,
            message=message,
            usage=self._usage,
            attempts=self._attempts.count if self._attempts else 0,
            first_content=self._first_content,
            total=self._time() - self._arrived,
        )
        for observer in self._engine.observers:
            observer.ended(record)


def _called(function: Function, arguments: dict[str, object]) -> object:
    try:
        return function.code(**arguments)
    except (StopIteration, SystemExit) as error:  # a future cannot carry the one, a loop not survive the other
        raise RuntimeError(f"function '{function.name}' raised {type(error).__name__}") from error


def _internal() -> RunError:
    return RunError(Reason.internal, "the server failed; its log tells more under this run_id")


def _first(wanted: float | None, otherwise: float | None) -> float | None:
    return otherwise if wanted is None else wanted


def _lower(wanted: int | None, cap: int | None) -> int | None:
    return cap if wanted is None else wanted if cap is None else min(wanted, cap)
