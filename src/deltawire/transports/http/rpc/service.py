"""The procedures as ASGI apps. The content type of a call picks its protocol.

In: a POST. Out: one message, or a run's events, in the form of the protocol; a content type that is none is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from google.protobuf.message import Message
from msgspec.structs import replace
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from deltawire.domain.errors import Code, Reason, RunError
from deltawire.domain.events import Error
from deltawire.engine.engine import Engine, Run
from deltawire.transports.http.event_stream import send_events
from deltawire.transports.http.replies import send_problem
from deltawire.transports.http.request import cancelled_when_left, read_body
from deltawire.transports.http.rpc import connect, grpc_web
from deltawire.transports.http.rpc.procedures import (
    ArticleStream,
    Invoke,
    ListFunctions,
    Read,
    Stream,
    Streaming,
    Unary,
)
from deltawire.transports.http.rpc.wire import StreamWire, UnaryWire, Wire
from deltawire.transports.http.settings import HttpSettings
from deltawire.transports.protobuf import ARTICLE, FUNCTIONS

_W = TypeVar("_W", bound=Wire)


def procedures(engine: Engine, settings: HttpSettings, article_function: str) -> dict[str, ASGIApp]:
    """By their paths; all are called with POST."""
    return {
        f"/{FUNCTIONS}/List": UnaryCall(engine, settings, ListFunctions(engine)),
        f"/{FUNCTIONS}/Invoke": UnaryCall(engine, settings, Invoke()),
        f"/{FUNCTIONS}/Stream": StreamCall(engine, settings, Stream()),
        f"/{ARTICLE}/stream": StreamCall(engine, settings, ArticleStream(engine, article_function)),
    }


class UnaryCall:
    """An ASGI app."""

    def __init__(self, engine: Engine, settings: HttpSettings, procedure: Unary) -> None:
        self._engine = engine
        self._settings = settings
        self._procedure = procedure
        self._wires: Mapping[str, UnaryWire] = _by_content_type([*connect.UNARY, *grpc_web.WIRES])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        wire = self._wires.get(_media(headers))
        if wire is None:
            await _refuse_media(self._engine, send, headers, self._wires)
            return
        with self._engine.arrive(wire.transport) as run:
            await self._run(run, wire, scope, receive, send)

    async def _run(self, run: Run, wire: UnaryWire, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if self._procedure.has_runs:
                run.admit()
            timeout = wire.timeout(Headers(scope=scope))
            read = await _reading(run, wire, scope, receive, self._settings)
            answer = self._procedure.prepare(run, read, timeout)
        except RunError as error:
            await wire.send_error(send, _refused(run, error))
            return
        with cancelled_when_left(run, scope, receive):
            match await answer(wire.encoding):
                case bytes() as message:
                    await wire.send_answer(send, message, run.id if self._procedure.has_runs else None)
                case error:
                    await wire.send_error(send, error)


class StreamCall:
    """An ASGI app."""

    def __init__(self, engine: Engine, settings: HttpSettings, procedure: Streaming) -> None:
        self._engine = engine
        self._settings = settings
        self._procedure = procedure
        self._wires: Mapping[str, StreamWire] = _by_content_type([*connect.STREAM, *grpc_web.WIRES])
        self._media = {name: wire.media(procedure.message(wire.encoding)) for name, wire in self._wires.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        wire = self._wires.get(_media(headers))
        if wire is None:
            await _refuse_media(self._engine, send, headers, self._wires)
            return
        with self._engine.arrive(wire.transport) as run:
            await self._run(run, wire, scope, receive, send)

    async def _run(self, run: Run, wire: StreamWire, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            run.admit()
            timeout = wire.timeout(Headers(scope=scope))
            read = await _reading(run, wire, scope, receive, self._settings)
            events = self._procedure.events(run, read, timeout)
        except RunError as error:
            await wire.send_error(send, _refused(run, error))
            return
        with cancelled_when_left(run, scope, receive):
            await send_events(wire.sending(send), events, self._media[wire.content_type], run.id, self._settings)


def _by_content_type(wires: Sequence[_W]) -> dict[str, _W]:
    return {wire.content_type: wire for wire in wires}


async def _reading(run: Run, wire: Wire, scope: Scope, receive: Receive, settings: HttpSettings) -> Read:
    body = await read_body(run, scope, receive, settings)
    message = wire.message(Headers(scope=scope), body, settings.max_body_bytes)

    def read(empty: Message) -> None:
        wire.encoding.parse(empty, message)

    return read


def _media(headers: Headers) -> str:
    """More than one content type is none."""
    return ",".join(headers.getlist("content-type")).partition(";")[0].strip().lower()


async def _refuse_media(engine: Engine, send: Send, headers: Headers, offered: Iterable[str]) -> None:
    names = ", ".join(offered)
    message = f"the call's content-type is '{_media(headers)[:80]}'; this procedure takes {names}"
    error = engine.arrive("http").refuse(RunError(Reason.unsupported_media, message))
    await send_problem(send, error, [(b"accept-post", names.encode())])


def _refused(run: Run, error: RunError) -> Error:
    """What is not supported of a call whose protocol is known is its compression. The protocols have a code for that,
    which is another than the reason's own."""
    refused = run.refuse(error)
    return replace(refused, code=Code.unimplemented) if error.reason is Reason.unsupported_media else refused
