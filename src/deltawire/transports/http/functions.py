"""``/v1/functions``: run a function by its name, and tell which there are."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from starlette.types import Receive, Scope, Send

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Event, Finished
from deltawire.domain.function import Function
from deltawire.domain.run import RunRequest
from deltawire.engine.engine import Engine, Run
from deltawire.transports import codec
from deltawire.transports.http.accept import negotiate
from deltawire.transports.http.documents import json_document
from deltawire.transports.http.event_stream import NDJSON, SSE, TEXT, Media, send_events
from deltawire.transports.http.replies import NO_STORE, RUN_ID, send_json, send_problem, send_whole
from deltawire.transports.http.request import JSON, cancelled_when_left, must_be_json, read_body, values
from deltawire.transports.http.settings import HttpSettings

_STREAMS: dict[str, Media] = {"text/event-stream": SSE, "application/x-ndjson": NDJSON, "text/plain": TEXT}
_OFFERED = (JSON, *_STREAMS)


class RunFunction:
    """``POST /v1/functions/{name}``, an ASGI app. ``Accept`` picks the reply."""

    def __init__(self, engine: Engine, settings: HttpSettings) -> None:
        self._engine = engine
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        media = negotiate(", ".join(values(scope, b"accept")), _OFFERED)
        stream = _STREAMS.get(media or "")
        with self._engine.arrive(stream.name if stream else "json" if media else "http") as run:
            await self._run(run, media, scope, receive, send)

    async def _run(self, run: Run, media: str | None, scope: Scope, receive: Receive, send: Send) -> None:
        stream = _STREAMS.get(media or "")
        try:
            run.admit()
            if media is None:
                raise RunError(
                    Reason.not_acceptable, f"no reply suits the Accept header; offered: {', '.join(_OFFERED)}"
                )
            must_be_json(values(scope, b"content-type"))
            request = codec.run_request(await read_body(run, scope, receive, self._settings))
        except RunError as error:
            await send_problem(send, run.refuse(error))
            return
        name: str = scope["path_params"]["name"]
        with cancelled_when_left(run, scope, receive):
            if stream is None:
                await self._reply_whole(send, run, name, request)
            elif stream is TEXT and scope["http_version"] == "1.0":
                await _send_text_whole(send, run, run.events(name, request, whole=True))
            else:
                await send_events(send, run.events(name, request), stream, run.id, self._settings)

    async def _reply_whole(self, send: Send, run: Run, name: str, request: RunRequest) -> None:
        match await run.outcome(name, request):
            case Finished() as finished:
                await send_json(send, codec.finished(finished), run_id=run.id)
            case error:
                await send_problem(send, error)


class ListFunctions:
    """``GET /v1/functions`` and ``GET /v1/functions/{name}``: descriptions, and JSON Schemas of input and output."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        functions = {name: plan.function for name, plan in engine.plans.items()}
        self._all = json_document(lambda: {"functions": [described(function) for function in functions.values()]})
        self._each = {name: json_document(partial(described, function)) for name, function in functions.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name: str | None = scope["path_params"].get("name")
        try:
            document = self._all if name is None else self._each[self._engine.plan(name).function.name]
        except RunError as error:
            await send_problem(send, self._engine.arrive("json").refuse(error))
            return
        await document(scope, receive, send)


async def _send_text_whole(send: Send, run: Run, events: AsyncGenerator[Event, None]) -> None:
    """The text in one piece, for HTTP/1.0: there a cut body looks like a complete one, so it is told its length."""
    text = b""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Error):
                await send_problem(send, event)
                return
            text += TEXT.encode(event)
    await send_whole(send, 200, TEXT.content_type, text, [NO_STORE, (RUN_ID, run.id.encode())])


def described(function: Function) -> dict[str, object]:
    """What a caller needs to know to call the function."""
    return {
        "name": function.name,
        "description": function.description,
        "input": function.input_schema(),
        "output": function.output.json_schema(),
    }
