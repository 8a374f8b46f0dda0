"""``POST /v1/chat/completions`` and ``GET /v1/models``: OpenAI's wire, for the functions that take messages.

``model`` is a function's name. Official clients work unchanged, but for their base URL.
"""

import time

from starlette.types import Receive, Scope, Send

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Finished
from deltawire.engine.engine import Engine, Run
from deltawire.transports.http import chat_reply
from deltawire.transports.http.chat_request import RequestError, chat_request
from deltawire.transports.http.conversation import Conversation
from deltawire.transports.http.event_stream import SSE, Media, send_events
from deltawire.transports.http.replies import Header, send_failure, send_json
from deltawire.transports.http.request import cancelled_when_left, must_be_json, read_body, values
from deltawire.transports.http.settings import HttpSettings

_NO_RETRY: Header = (b"x-should-retry", b"false")
"""OpenAI's clients try again by themselves after 429 and 5xx, unless they are told that it is of no use."""


class ChatCompletions:
    """An ASGI app."""

    def __init__(self, engine: Engine, settings: HttpSettings) -> None:
        self._engine = engine
        self._settings = settings
        self._conversations = {name: Conversation.of(plan.function) for name, plan in engine.plans.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._engine.arrive("chat") as run:
            await self._run(run, scope, receive, send)

    async def _run(self, run: Run, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            run.admit()
            must_be_json(values(scope, b"content-type"))
            request = chat_request(await read_body(run, scope, receive, self._settings))
            function = self._engine.plan(request.model).function
            asked = request.run_request(function, self._conversations[request.model])
        except RunError as error:
            await send_error(send, run.refuse(error), _param(error))
            return
        created = int(time.time())
        typed = not function.output.is_text
        with cancelled_when_left(run, scope, receive):
            if request.stream:
                chunks = chat_reply.Chunks(run.id, request.model, created, typed=typed, usage=request.wants_usage)
                media = Media("chat", SSE.content_type, chunks.encode, SSE.heartbeat, send_error)
                await send_events(send, run.events(request.model, asked), media, run.id, self._settings)
                return
            match await run.outcome(request.model, asked):
                case Finished() as finished:
                    body = chat_reply.completion(finished, request.model, created, typed=typed)
                    await send_json(send, body, run_id=run.id)
                case error:
                    await send_error(send, error)


class ListModels:
    """``GET /v1/models`` and ``GET /v1/models/{id}``: the functions that can be called with messages."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._names = [name for name, plan in engine.plans.items() if Conversation.of(plan.function) is not None]
        self._created = int(time.time())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        name: str | None = scope["path_params"].get("id")
        if name is None:
            await send_json(send, chat_reply.models(self._names, self._created))
        elif name in self._names:
            await send_json(send, chat_reply.model(name, self._created))
        else:
            known = ", ".join(f"'{other}'" for other in self._names[:10]) or "none"
            message = f"no function named '{name[:100]}' takes messages; known: {known}"
            refused = self._engine.arrive("chat").refuse(RunError(Reason.unknown_function, message))
            await send_error(send, refused, "model")


async def send_error(send: Send, error: Error, param: str | None = None) -> None:
    """As OpenAI's API tells errors. ``param`` is the field of the request that is wrong."""
    headers = [] if error.reason.retry_may_help else [_NO_RETRY]
    await send_failure(send, error, b"application/json", chat_reply.error_body(error, param), headers)


def _param(error: RunError) -> str | None:
    if isinstance(error, RequestError):
        return error.param
    return "model" if error.reason is Reason.unknown_function else None
