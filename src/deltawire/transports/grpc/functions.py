"""``deltawire.v1.Functions``: run a function, and tell which there are. And the older streaming chat's one method.

In and out are bytes; ``transports/protobuf.py`` reads and writes the messages.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from typing import TypeAlias

import grpc

from deltawire.article import stream_pb2 as article_pb
from deltawire.domain.errors import RunError
from deltawire.domain.events import Error, Event, Started
from deltawire.domain.run import RunRequest
from deltawire.engine.engine import Engine, Run
from deltawire.transports import protobuf
from deltawire.transports.article import prompt_request, prompted
from deltawire.transports.grpc.calls import Calls
from deltawire.transports.grpc.reply import Context, Reply
from deltawire.transports.grpc.settings import GrpcSettings
from deltawire.v1 import functions_pb2 as pb

_Handlers: TypeAlias = "dict[str, grpc.RpcMethodHandler[bytes, bytes]]"


class Functions:
    """The methods of both services."""

    def __init__(self, engine: Engine, calls: Calls, settings: GrpcSettings, article_function: str) -> None:
        self._engine = engine
        self._calls = calls
        self._hold = settings.status_hold
        self._article_function = article_function
        self._listed = protobuf.functions(plan.function for plan in engine.plans.values())

    def handlers(self) -> tuple[grpc.GenericRpcHandler, ...]:
        functions: _Handlers = {
            "List": grpc.unary_unary_rpc_method_handler(self.list),
            "Invoke": grpc.unary_unary_rpc_method_handler(self.invoke),
            "Stream": grpc.unary_stream_rpc_method_handler(self.stream),
        }
        article: _Handlers = {"stream": grpc.unary_stream_rpc_method_handler(self.article)}
        return (
            grpc.method_handlers_generic_handler(protobuf.FUNCTIONS, functions),
            grpc.method_handlers_generic_handler(protobuf.ARTICLE, article),
        )

    async def list(self, body: bytes, context: Context) -> bytes:
        try:
            protobuf.parse(pb.ListRequest(), body)
        except RunError as error:
            run = self._engine.arrive("grpc")
            await Reply(context, run.id).fail(run.refuse(error))
        return self._listed

    async def invoke(self, body: bytes, context: Context) -> bytes:
        return await self._calls.serve(context, partial(self._invoke, body))

    async def stream(self, body: bytes, context: Context) -> None:
        await self._calls.serve(context, partial(self._stream, body))

    async def article(self, body: bytes, context: Context) -> None:
        await self._calls.serve(context, partial(self._article, body))

    async def _invoke(self, body: bytes, run: Run, _reply: Reply, deadline: float | None) -> bytes | Error:
        try:
            name, request = _named(body)
        except RunError as error:
            return run.refuse(error)
        outcome = await run.outcome(name, request.within(deadline))
        return outcome if isinstance(outcome, Error) else protobuf.finished(outcome)

    async def _stream(self, body: bytes, run: Run, reply: Reply, deadline: float | None) -> Error | None:
        try:
            name, request = _named(body)
        except RunError as error:
            return run.refuse(error)
        reply.hold(self._hold)
        return await _send(run.events(name, request.within(deadline)), protobuf.event, reply)

    async def _article(self, body: bytes, run: Run, reply: Reply, deadline: float | None) -> Error | None:
        message = article_pb.UserRequest()
        try:
            protobuf.parse(message, body)
            name = prompted(self._engine, self._article_function)
        except RunError as error:
            return run.refuse(error)
        request = prompt_request(message.prompt).within(deadline)
        reply.hold(self._hold)
        return await _send(run.events(name, request), protobuf.llm_response, reply)


async def _send(events: AsyncGenerator[Event, None], encode: Callable[[Event], bytes], reply: Reply) -> Error | None:
    """Play the events to their end; returns the error that ended them."""
    async with aclosing(events):
        async for event in events:
            match event:
                case Error():
                    return event
                case Started():
                    reply.limit(event.timeout)
                case _:
                    pass
            if message := encode(event):
                await reply.write(message)
    return None


def _named(body: bytes) -> tuple[str, RunRequest]:
    message = pb.RunRequest()
    protobuf.parse(message, body)
    return message.function, protobuf.run_request(message)
