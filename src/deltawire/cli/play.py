"""Plays a run's events: the answer to stdout, byte for byte and piece by piece; everything beside it to stderr."""

import asyncio
import logging
import sys
import traceback
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from time import monotonic

import msgspec
from typing_extensions import override

import deltawire
from deltawire.bootstrap.core import Core
from deltawire.cli.terminal import PIPE_CLOSED, Asides, complain, visible
from deltawire.domain.errors import Reason
from deltawire.domain.events import Error, Event, Finished, FinishReason, Reasoning, Started, Text
from deltawire.domain.function import Function
from deltawire.domain.run import RunRequest
from deltawire.observers.log import LogSettings
from deltawire.transports import codec

_INVALID = frozenset({Reason.invalid_input, Reason.invalid_json})


def play(core: Core, function: Function, request: RunRequest, log: "Log", *, as_events: bool) -> int:
    """Run to the end; returns the exit code. Ctrl-C, and a reader that leaves, cancel the run; when the connection to
    the provider is closed, ``KeyboardInterrupt`` is raised for the one, and nothing said for the other."""
    stage = _EventLines(log, function) if as_events else _Stage(log, function)
    try:
        return asyncio.run(_play(core, function.name, request, stage))
    except BrokenPipeError:
        return PIPE_CLOSED
    except KeyboardInterrupt:
        stage.interrupted()
        raise


async def _play(core: Core, name: str, request: RunRequest, stage: "_Stage") -> int:
    try:
        run = core.engine.arrive("cli")
        async with aclosing(run.events(name, request)) as events:
            return await _shown(events, stage)
    finally:
        await core.close()


async def _shown(events: AsyncGenerator[Event, None], stage: "_Stage") -> int:
    async for event in events:
        stage.show(event)
        if isinstance(event, Error):
            return 2 if event.reason in _INVALID else 1
    return 0


class _Stage:
    """Where the answer is shown. Text goes out as it comes; a typed function's text is not its answer, which comes
    validated, with the end."""

    def __init__(self, log: "Log", function: Function) -> None:
        self._log = log
        self._function = function
        self._out = _Output()
        self._asides = Asides(sys.stderr)
        self._shows_reasoning = sys.stderr.isatty()
        self._reasoning = False
        self._model = ""
        self._began = monotonic()

    def show(self, event: Event) -> None:
        match event:
            case Started():
                self._model = event.model
            case Reasoning() if self._shows_reasoning:
                self._reasoning = True
                self._asides.write(event.text)
            case Text() if self._function.output.is_text:
                self._end_reasoning()
                self._out.write(event.text.encode())
            case Finished():
                self._end_reasoning()
                if event.output is not None:
                    self._out.write(self._out.json(bytes(event.output)))
                self._out.end_line()
                self._asides.line(self._summary(event))
            case Error():
                self.interrupted()
                self._complain(event)
            case _:
                pass

    def interrupted(self) -> None:
        """What follows begins on a line of its own."""
        self._end_reasoning()
        self._out.end_line()

    def _complain(self, error: Error) -> None:
        """A server keeps the cause of an ``internal`` error to its log; here the log's reader is the caller."""
        way_out = f"; see deltawire run {self._function.name} --help" if error.reason in _INVALID else ""
        complain(f"{error.reason}: {self._log.failure or error.message}{way_out}")

    def _end_reasoning(self) -> None:
        if self._reasoning:
            self._asides.write("\n\n")
            self._reasoning = False

    def _summary(self, event: Finished) -> str:
        told = [self._model]
        if event.usage is not None:
            told.append(f"{event.usage.input_tokens} tokens in, {event.usage.output_tokens} out")
        told.append(f"{monotonic() - self._began:.1f} s")
        if event.finish_reason is not FinishReason.stop:
            told.append(f"not finished: {event.finish_reason}")
        return " · ".join(told)


class _EventLines(_Stage):
    """``--events``: each event as a line of JSON, whatever the function's output is."""

    @override
    def show(self, event: Event) -> None:
        self._out.write(codec.ndjson(event))
        if isinstance(event, Error):
            self._complain(event)


class _Output:
    """stdout: exact bytes in a pipe or a file, made harmless on a terminal."""

    def __init__(self) -> None:
        self._on_terminal = sys.stdout.isatty()
        self._at_line_start = True

    def write(self, piece: bytes) -> None:
        if self._on_terminal:
            piece = visible(piece.decode()).encode()
            self._at_line_start = piece.endswith(b"\n")
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()

    def json(self, value: bytes) -> bytes:
        """A line in a pipe; indented for a person."""
        return (msgspec.json.format(value, indent=2) if self._on_terminal else value) + b"\n"

    def end_line(self) -> None:
        if self._on_terminal and not self._at_line_start:
            self.write(b"\n")


class Log(logging.Handler):
    """The local model's progress, and warnings, as asides on stderr. A failure of the function's own code is kept for
    the error's line; its traceback is shown where ``log.level`` is debug."""

    def __init__(self, settings: LogSettings) -> None:
        super().__init__()
        self._asides = Asides(sys.stderr)
        self._traces = settings.level == "debug"
        self.failure: str | None = None

    @classmethod
    def installed(cls, settings: LogSettings) -> "Log":
        log = cls(settings)
        root = logging.getLogger()
        root.handlers = [log]
        root.setLevel(logging.WARNING)
        logging.getLogger("deltawire").setLevel(settings.level.upper())
        return log

    @override
    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            self._asides.line(record.getMessage())
            return
        self.failure = _failure(error)
        if self._traces:
            self._asides.write("".join(traceback.format_exception(error)))


def _failure(error: BaseException) -> str:
    """The exception and the line that raised it, in the user's own code where it came from there."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith((_OURS, sys.prefix, sys.base_prefix))]
    [*_, last] = own or frames
    return f"{last.filename}:{last.lineno}: {type(error).__name__}: {error}"


_OURS = str(Path(deltawire.__file__).parent)
