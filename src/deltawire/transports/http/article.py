"""``POST /streaming/fastapi/`` and ``/streaming/starlette/``: the streaming-chat article's surface, a prompt in and its
answer out as server-sent events of raw text."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from starlette.types import Receive, Scope, Send

from deltawire.domain.errors import RunError
from deltawire.domain.events import Event, Finished, Started, Text
from deltawire.domain.run import MaxTokens, RunRequest, Seed
from deltawire.engine.engine import Engine, Run
from deltawire.transports import codec
from deltawire.transports.article import MAX_TOKENS, SEED, TEMPERATURE, prompt_request, prompted
from deltawire.transports.http.article_events import Encoder
from deltawire.transports.http.event_stream import SSE, Media, send_events
from deltawire.transports.http.replies import send_problem
from deltawire.transports.http.request import cancelled_when_left, must_be_json, read_body, values
from deltawire.transports.http.settings import HttpSettings

ARTICLE_PATHS = tuple(f"/streaming/{name}{slash}" for name in ("fastapi", "starlette") for slash in ("/", ""))
"""Both names mean the same here. Nothing is redirected, so both spellings are served."""


class _PromptRequest(Struct, frozen=True):
    """The body. Members that are not known are ignored, as they were where it comes from."""

    prompt: str
    max_tokens: MaxTokens = MAX_TOKENS
    seed: Seed = SEED
    temperature: Annotated[float, Meta(ge=0, le=2)] = TEMPERATURE
    stream: bool = True

    def run_request(self) -> RunRequest:
        return prompt_request(self.prompt, max_tokens=self.max_tokens, seed=self.seed, temperature=self.temperature)


_requests = msgspec.json.Decoder(_PromptRequest)


class StreamPrompt:
    """An ASGI app. Runs the function that is called ``function``."""

    def __init__(self, engine: Engine, settings: HttpSettings, function: str) -> None:
        self._engine = engine
        self._settings = settings
        self._function = function

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._engine.arrive("article") as run:
            await self._run(run, scope, receive, send)

    async def _run(self, run: Run, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            run.admit()
            must_be_json(values(scope, b"content-type"))
            body = await read_body(run, scope, receive, self._settings)
            request = codec.decode(_requests, body, '{"prompt": "…"}')
            name = prompted(self._engine, self._function)
        except RunError as error:
            await send_problem(send, run.refuse(error))
            return
        media = Media("article", SSE.content_type, Encoder().encode, SSE.heartbeat)
        with cancelled_when_left(run, scope, receive):
            events = run.events(name, request.run_request(), whole=not request.stream)
            if not request.stream:
                events = _in_one_piece(events)
            await send_events(send, events, media, run.id, self._settings)


async def _in_one_piece(events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """The same run with all of its output in one piece, for callers who want no stream of it."""
    started = None
    async with aclosing(events):
        async for event in events:
            match event:
                case Started():
                    started = event
                case Finished():
                    if started is not None:
                        yield started
                    if text := _text(event):
                        yield Text(text)
                    yield event
                case Text():
                    pass
                case _:
                    yield event


def _text(finished: Finished) -> str:
    """The output in words: a text as it is, a value as JSON."""
    output = bytes(finished.output or b'""')
    return msgspec.json.decode(output, type=str) if output[:1] == b'"' else output.decode()
