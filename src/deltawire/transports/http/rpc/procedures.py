"""Which procedures there are, and what each makes of a request: the events of a run, or one answer.

In: a message that is yet to be read. Out: what the protocols send. No protocol is known here.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import Protocol

from google.protobuf.message import Message

from deltawire.article import stream_pb2
from deltawire.domain.events import Error, Event, Finished
from deltawire.domain.run import RunRequest
from deltawire.engine.engine import Engine, Run
from deltawire.transports import protobuf
from deltawire.transports.article import prompt_request, prompted
from deltawire.transports.codec import Encode
from deltawire.transports.http.rpc.encodings import Encoding
from deltawire.v1 import functions_pb2 as pb

Read = Callable[[Message], None]
"""Fills a message from the request. Raises ``RunError``."""

Answering = Callable[[Encoding], Awaitable[bytes | Error]]


class Unary(Protocol):
    """A procedure that answers with one message."""

    has_runs: bool

    def prepare(self, run: Run, read: Read, timeout: float | None) -> Answering:
        """Raises ``RunError`` for a request that cannot be used. ``timeout`` is the caller's deadline in seconds."""
        ...


class Streaming(Protocol):
    """A procedure that answers with a stream of messages."""

    def events(self, run: Run, read: Read, timeout: float | None) -> AsyncGenerator[Event, None]:
        """Raises ``RunError`` for a request that cannot be used. ``timeout`` is the caller's deadline in seconds."""
        ...

    def message(self, encoding: Encoding) -> Encode:
        """What makes messages of the events."""
        ...


class ListFunctions:
    """``deltawire.v1.Functions/List``."""

    has_runs = False

    def __init__(self, engine: Engine) -> None:
        self._functions = [plan.function for plan in engine.plans.values()]

    def prepare(self, run: Run, read: Read, timeout: float | None) -> Answering:  # noqa: ARG002
        read(pb.ListRequest())
        return self._answer

    async def _answer(self, encoding: Encoding) -> bytes | Error:
        return encoding.functions(self._functions)


class Invoke:
    """``deltawire.v1.Functions/Invoke``: the answer when it is complete."""

    has_runs = True

    def prepare(self, run: Run, read: Read, timeout: float | None) -> Answering:
        return partial(self._answer, run, *_run_request(read, timeout))

    async def _answer(self, run: Run, name: str, request: RunRequest, encoding: Encoding) -> bytes | Error:
        match await run.outcome(name, request):
            case Finished() as finished:
                return encoding.finished(finished)
            case error:
                return error


class Stream:
    """``deltawire.v1.Functions/Stream``: the run's events."""

    def events(self, run: Run, read: Read, timeout: float | None) -> AsyncGenerator[Event, None]:
        return run.events(*_run_request(read, timeout))

    def message(self, encoding: Encoding) -> Encode:
        return encoding.event


class ArticleStream:
    """``stream.ResponseStreamingService/stream``: the pieces of the answer, and nothing else."""

    def __init__(self, engine: Engine, function: str) -> None:
        self._engine = engine
        self._function = function

    def events(self, run: Run, read: Read, timeout: float | None) -> AsyncGenerator[Event, None]:
        request = stream_pb2.UserRequest()
        read(request)
        return run.events(prompted(self._engine, self._function), prompt_request(request.prompt).within(timeout))

    def message(self, encoding: Encoding) -> Encode:
        return encoding.llm_response


def _run_request(read: Read, timeout: float | None) -> tuple[str, RunRequest]:
    message = pb.RunRequest()
    read(message)
    return message.function, protobuf.run_request(message).within(timeout)
