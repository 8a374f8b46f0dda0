"""Runs a function. Read this first: everything else is behind one of the names on this page.

In: the name of a function and a ``RunRequest``. Out: the run's events, ending in exactly one ``finished`` or ``error``.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import aclosing, contextmanager
from contextvars import copy_context
from difflib import get_close_matches
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from msgspec import UNSET

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Event, Finished, FinishReason, Started, Text, Usage
from deltawire.domain.function import Function
from deltawire.domain.ports import Attempt, Completion, Meter, Observer
from deltawire.domain.prompt import Message, instructed, messages_of
from deltawire.domain.run import InstructedRequest, RunRecord, RunRequest, new_run_id
from deltawire.engine.admission import Admission, cut_short
from deltawire.engine.attempts import Attempts
from deltawire.engine.deadlines import Deadline
from deltawire.engine.output import Answer
from deltawire.engine.plan import Plan, Way
from deltawire.engine.variants import choose

logger = logging.getLogger("deltawire.engine")
_FAILED = "run %s of %s failed"


class Engine:
    """Holds the functions that are served. ``pool`` runs those that may block. Without ``admission`` there may be any
    number of runs."""

    def __init__(
        self,
        plans: Mapping[str, Plan],
        observers: Sequence[Observer],
        pool: Executor,
        admission: Admission | None = None,
    ) -> None:
        self.plans = plans
        self.observers = observers
        self.pool = pool
        self.admission = admission or Admission()
        self.under_way: set[Run] = set()

    def arrive(self, transport: str) -> "Run":
        """A request has arrived: from here it has a run id, and its time counts."""
        return Run(self, transport)

    def end(self) -> None:
        """End every run that is under way, for the server will not be there any more when it would have ended."""
        for run in [*self.under_way]:
            run.stop(cut_short())

    def plan(self, name: str) -> Plan:
        """Raises ``RunError`` (unknown_function), which names the functions that exist."""
        plan = self.plans.get(name)
        if plan is None:
            known = get_close_matches(name, self.plans) or sorted(self.plans)
            listed = ", ".join(f"'{other}'" for other in known[:10])
            raise RunError(Reason.unknown_function, f"no function named '{name[:100]}'; known: {listed}")
        return plan


class Run:
    """One call of a function, from its arrival to its terminal event. Is observed exactly once.

    A transport that waits for the rest of a request takes a place for the run before (``admit``), and keeps the run in
    a ``with`` until it is over: whatever happens meanwhile, the place is given back.
    """

    def __init__(self, engine: Engine, transport: str) -> None:
        self.id = new_run_id()
        self._engine = engine
        self._transport = transport
        self._time = asyncio.get_running_loop().time
        self._arrived = self._time()
        self._plan: Plan | None = None
        self._way: Way | None = None
        self._deadline: Deadline | None = None
        self._attempts: Attempts | None = None
        self._usage: Usage | None = None
        self._meter = Meter()
        self._first_content: float | None = None
        self._stopped: RunError | None = None
        self._wake: Callable[[], None] | None = None
        self._has_place = False
        self._over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._has_place and not self._over:  # the request was never complete
            if error is None or isinstance(error, asyncio.CancelledError):
                self._observe(Reason.canceled, "the caller left")
            else:
                logger.error("run %s failed before it began", self.id, exc_info=error)
                self._observe(Reason.internal, _internal().message)

    def admit(self) -> None:
        """Take a place among the runs under way, once. Raises ``RunError`` (overloaded, draining) where
        there is none."""
        if not self._has_place:
            self._engine.admission.enter()
            self._engine.under_way.add(self)
            self._has_place = True

    async def events(
        self, name: str, request: RunRequest, *, whole: bool = False, strict: bool = False
    ) -> AsyncGenerator[Event, None]:
        """The run's events. Iterate them once, inside ``aclosing``: closing early closes the connection to the
        provider.

        ``whole`` says that the caller will see nothing but the outcome, which then carries the output of text functions
        too. ``strict`` turns every finish reason but ``stop`` into an error, as it is for typed functions anyway.
        """
        try:
            self.admit()
            plan, attempts, deadline = await self._begin(name, request)
            answer = Answer(plan.function, attempts.way.options, whole=whole, strict=strict)
            asking = attempts.answer()
            finished = None
            while finished is None:
                completion = None
                async with asking as (piece, following):
                    while piece is not None:
                        if isinstance(piece, Completion):
                            completion = piece
                        else:
                            if self._first_content is None:
                                self._first_content = self._time() - self._arrived
                                deadline.commit()
                                deadline.waiting = None
                                yield self._started(plan, attempts, deadline)
                                deadline.resume()
                            if answer.keeps and isinstance(piece, Text):
                                answer.add(piece.text)
                            deadline.waiting = None
                            yield piece
                            deadline.resume()
                        try:
                            piece = await following()
                        except StopAsyncIteration:
                            break
                try:
                    finished = await self._finish(answer, completion, attempts)
                except RunError as error:
                    asking = attempts.again(answer.correction(error))
        except RunError as error:
            yield self.refuse(error)
        except asyncio.CancelledError as interruption:
            ended = self._interrupted(name, interruption)
            if ended is None:
                raise
            yield ended
        except GeneratorExit:
            # A limit that is over while the caller does not read cannot be told; the log tells it.
            over = (self._deadline and self._deadline.error) or RunError(Reason.canceled, "the caller left")
            self._observe(over.reason, over.message)
            raise
        except BaseException:  # also what is meant to end a program: the code of one function ends its own run only
            logger.exception(_FAILED, self.id, name)
            yield self.refuse(_internal())
        else:
            if self._first_content is None:
                yield self._started(plan, attempts, deadline)
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
        self.stop(RunError(Reason.canceled, message))

    def stop(self, error: RunError) -> None:
        """End the run in this error, whatever it is doing."""
        if self._deadline is not None:
            self._deadline.stop(error)
        elif self._stopped is None:
            self._stopped = error
            if self._wake is not None:
                self._wake()

    @contextmanager
    def requested(self, wake: Callable[[], None]) -> Generator[None, None, None]:
        """While this is open, a transport waits for the rest of the request; ``wake`` ends that when the run is
        stopped. Raises the error for which it was."""
        self._wake = wake
        try:
            yield
        finally:
            self._wake = None
            if self._stopped is not None:
                raise self._stopped

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

    def _interrupted(self, name: str, interruption: asyncio.CancelledError) -> Error | None:
        """In the handler of the interruption: what the run ends in. ``None`` where the task that runs us is being
        cancelled, not the run: the caller is gone."""
        error = self._deadline and self._deadline.claim()
        if error is not None:
            return self.refuse(error)
        if self._deadline is None or self._deadline.cancelled_from_outside():
            self._observe(Reason.canceled, "the caller left")
            return None
        logger.error(_FAILED, self.id, name, exc_info=interruption)
        return self.refuse(_internal())

    async def _begin(self, name: str, request: RunRequest) -> tuple[Plan, Attempts, Deadline]:
        """From a name and JSON to the attempts at a model; all that can be wrong with a request is found here."""
        plan = self._plan = self._engine.plan(name)
        way = self._way = choose(plan, request.user, request.variant)
        options, wanted = way.options, request.settings
        arguments = plan.function.bind(bytes(request.input))
        total = min(request.timeout or options.timeouts.total, options.timeouts.total)
        deadline = self._deadline = Deadline(options.timeouts, total, self._arrived)
        deadline.error = self._stopped
        deadline.resume()
        messages = await self._render(plan.function, arguments)
        if isinstance(request, InstructedRequest):
            messages = instructed(messages, request.instructions)
        deadline.resume()  # raises for a limit whose interruption the function's own code has swallowed
        attempt = Attempt(
            model=way.models[0].id,
            messages=messages,
            max_tokens=_lower(wanted.max_tokens, options.max_tokens),
            temperature=options.temperature if wanted.temperature is None else wanted.temperature,
            seed=wanted.seed,
            output=plan.function.output.schema,
            pulse=deadline,
            meter=self._meter,
        )
        attempts = self._attempts = Attempts(way, attempt, deadline)
        return plan, attempts, deadline

    def _started(self, plan: Plan, attempts: Attempts, deadline: Deadline) -> Started:
        return Started(
            run_id=self.id,
            function=plan.function.name,
            variant=attempts.way.variant,
            model=attempts.model.name,
            max_tokens=attempts.attempt.max_tokens,
            timeout=deadline.total,
        )

    async def _render(self, function: Function, arguments: dict[str, object]) -> tuple[Message, ...]:
        """Call the function's own code."""
        call = partial(_contained, function, partial(function.code, **arguments))
        if function.is_async or function.inline:
            rendered = call()
        else:
            rendered = await asyncio.get_running_loop().run_in_executor(
                self._engine.pool, partial(copy_context().run, call)
            )
        if asyncio.iscoroutine(rendered):
            try:
                rendered = await rendered
            except GeneratorExit as error:  # in here it would be a caller who left
                raise _raised(function, error) from error
        return messages_of(rendered)

    async def _finish(self, answer: Answer, completion: Completion | None, attempts: Attempts) -> Finished:
        """Raises ``RunError`` for an answer that is none."""
        if completion is None:
            raise RunError(Reason.internal, "the provider's stream ended without a completion")
        self._usage, self._meter.usage = _sum(self._usage, completion.usage), None
        read = partial(answer.finish, completion, attempts.attempt.max_tokens)
        # A long answer would keep all other runs waiting while it is read, and the pool may be full of who blocks.
        output = await asyncio.to_thread(_contained, answer.function, read) if answer.is_long else read()
        self._observe(completion.finish_reason, None)
        return Finished(
            run_id=self.id,
            output=output,
            finish_reason=completion.finish_reason,
            usage=self._usage,
            attempts=attempts.count,
        )

    def _model_name(self) -> str | None:
        """The model that is being asked; before that, the one that will be asked first."""
        if self._attempts is not None:
            return self._attempts.model.name
        return self._way and self._way.models[0].name

    def _observe(self, outcome: FinishReason | Reason, message: str | None) -> None:
        """The run is over. Its record is out before the terminal event is, so that whoever saw that event finds it."""
        if self._over:
            return
        self._over = True
        if self._has_place:
            self._engine.admission.leave()
            self._engine.under_way.discard(self)
        if self._deadline is not None:
            self._deadline.close()
        record = RunRecord(
            run_id=self.id,
            transport=self._transport,
            function=self._plan and self._plan.function.name,
            variant=self._way and self._way.variant,
            model=self._model_name(),
            outcome=outcome,
            message=message,
            usage=_sum(self._usage, self._meter.usage),
            attempts=self._attempts.count if self._attempts else 0,
            first_content=self._first_content,
            total=self._time() - self._arrived,
        )
        for observer in self._engine.observers:
            observer.ended(record)


_T = TypeVar("_T")


def _contained(function: Function, call: Callable[[], _T]) -> _T:
    try:
        return call()
    except (StopIteration, GeneratorExit) as error:  # a future cannot carry the one, the other says that a caller left
        raise _raised(function, error) from error


def _raised(function: Function, error: BaseException) -> RuntimeError:
    return RuntimeError(f"function '{function.name}' raised {type(error).__name__}")


def _internal() -> RunError:
    return RunError(Reason.internal, "the server failed; its log tells more under this run_id")


def _sum(before: Usage | None, usage: Usage | None) -> Usage | None:
    if before is None or usage is None:
        return usage or before
    return Usage(before.input_tokens + usage.input_tokens, before.output_tokens + usage.output_tokens)


def _lower(wanted: int | None, cap: int | None) -> int | None:
    return cap if wanted is None else wanted if cap is None else min(wanted, cap)
