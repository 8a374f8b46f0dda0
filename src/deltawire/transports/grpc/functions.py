"""``deltawire.v1.Functions``: run a function, and tell which there are. And the older streaming chat's one method.

In and out are bytes; ``transports/protobuf.py`` reads and writes the messages.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from functools import partial
from typing import TypeAlias, cast

import grpc
from google.protobuf.message import Message
from grpc import aio

from deltawire.article import stream_pb2 as article_pb
from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Event, Started, Text
from deltawire.domain.run import RunRequest
from deltawire.engine.engine import Engine, Run
from deltawire.transports import protobuf
from deltawire.transports.article import prompt_request, prompted
from deltawire.transports.codec import Encode
from deltawire.transports.grpc.calls import Calls
from deltawire.transports.grpc.reply import Context, Reply
from deltawire.transports.grpc.settings import GrpcSettings
from deltawire.v1 import functions_pb2 as pb

_Handlers: TypeAlias = "dict[str, grpc.RpcMethodHandler[bytes, bytes]]"

# Where a call's one message is missing, gRPC would never answer. So it is told that there may be any number, and the
# first is read here.
Messages: TypeAlias = "AsyncIterator[bytes]"
Body: TypeAlias = "bytes | object"
"""``aio.EOF`` where there is none."""
Asked: TypeAlias = "Callable[[Body, Run, float | None], AsyncGenerator[Event, None]]"
"""The events that a request asks for, within the caller's deadline in seconds. Raises ``RunError``."""

_GONE_WITHIN = 1.0
"""Seconds in which gRPC, on a busy machine, has told that a caller is gone."""


class Functions:
    """The methods of both services."""

    def __init__(self, engine: Engine, calls: Calls, settings: GrpcSettings, article_function: str) -> None:
        self._engine = engine
        self._calls = calls
        self._hold = settings.status_hold
        self._write_timeout = settings.write_timeout
        self._article_function = article_function
        self._listed = protobuf.functions(plan.function for plan in engine.plans.values())

    def services(self) -> "dict[str, _Handlers]":
        return {
            protobuf.FUNCTIONS: {
                "List": grpc.stream_unary_rpc_method_handler(self.list),
                "Invoke": grpc.stream_unary_rpc_method_handler(self.invoke),
                "Stream": grpc.stream_stream_rpc_method_handler(self.stream),
            },
            protobuf.ARTICLE: {"stream": grpc.stream_stream_rpc_method_handler(self.article)},
        }

    async def list(self, _: Messages, context: Context) -> bytes:
        body = await _received(context)
        try:
            _parse(pb.ListRequest(), body)
        except RunError as error:
            run = self._engine.arrive("grpc")
            await Reply(context, run, self._write_timeout).fail(run.refuse(error))
        return self._listed

    async def invoke(self, _: Messages, context: Context) -> bytes:
        return await self._calls.serve(context, partial(self._invoke, await _received(context)))

    async def stream(self, _: Messages, context: Context) -> None:
        body = await _received(context)
        await self._calls.serve(context, partial(self._play, _requested, protobuf.event, body))

    async def article(self, _: Messages, context: Context) -> None:
        body = await _received(context)
        await self._calls.serve(context, partial(self._play, self._prompted, protobuf.llm_response, body))

    async def _invoke(self, body: Body, run: Run, _reply: Reply, deadline: float | None) -> bytes | Error:
        try:
            name, request = _named(body)
        except RunError as error:
            return run.refuse(error)
        outcome = await run.outcome(name, request.within(deadline))
        return outcome if isinstance(outcome, Error) else protobuf.finished(outcome)

    async def _play(
        self, asked: Asked, encode: Encode, body: Body, run: Run, reply: Reply, deadline: float | None
    ) -> Error | None:
        """Play the events to their end; returns the error that ended them."""
        try:
            events = asked(body, run, deadline)
        except RunError as error:
            return run.refuse(error)
        reply.hold(self._hold)
        async with aclosing(events):
            try:
                async for event in events:
                    match event:
                        case Text():
                            pass
                        case Error():
                            return event
                        case Started():
                            reply.limit(event.timeout)
                        case _:
                            pass
                    message = encode(event)
                    if message and not reply.put(message):
                        await reply.write(message)
                await reply.flush()
            except aio.BaseError:
                await reply.lost()
                raise
        return None

    def _prompted(self, body: Body, run: Run, deadline: float | None) -> AsyncGenerator[Event, None]:
        message = article_pb.UserRequest()
        _parse(message, body)
        name = prompted(self._engine, self._article_function)
        return run.events(name, prompt_request(message.prompt).within(deadline))


def _requested(body: Body, run: Run, deadline: float | None) -> AsyncGenerator[Event, None]:
    name, request = _named(body)
    return run.events(name, request.within(deadline))


async def _received(context: Context) -> Body:
    body = cast(Body, await context.read())  # its type does not say that there may be none
    if not isinstance(body, bytes):
        await asyncio.sleep(_GONE_WITHIN)  # nothing comes from a caller who is gone, too: gRPC then cancels us
    return body


def _named(body: Body) -> tuple[str, RunRequest]:
    message = pb.RunRequest()
    _parse(message, body)
    return message.function, protobuf.run_request(message)


def _parse(message: Message, body: Body) -> None:
    """Raises ``RunError`` (invalid_input)."""
    if not isinstance(body, bytes):
        raise RunError(Reason.invalid_input, "the request holds no whole message; send one")
    protobuf.parse(message, body)
