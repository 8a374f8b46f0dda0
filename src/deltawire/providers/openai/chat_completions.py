"""Any server that speaks chat completions: an attempt in, pieces and a completion out. What differs between servers is
in their ``Wire``."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from functools import partial

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Piece
from deltawire.domain.ports import Attempt, Completion, OutputSchema
from deltawire.providers.http1.errors import CutError
from deltawire.providers.openai.reply import Foreign, Reply
from deltawire.providers.openai.request import request_body
from deltawire.providers.openai.strict_schema import StrictSchema, strict
from deltawire.providers.openai.wire import Credential, Wire
from deltawire.providers.upstream import Asking, Response, Upstream

_TAIL_SECONDS = 1.0
_TELLING = re.compile("auth|key|token|secret|cookie", re.IGNORECASE)


class ChatCompletions:
    """One server. Implements ``domain.ports.Provider``."""

    def __init__(self, name: str, wire: Wire, credential: Credential) -> None:
        self._name = name
        self._wire = wire
        self._credential = credential
        self._upstream = Upstream(
            name, wire.base_url, {"content-type": "application/json", **wire.headers}, keep_alive=wire.keep_alive
        )
        self._schemas: dict[OutputSchema, StrictSchema] = {}
        self._asked_by: Mapping[str, str] = {}
        self._not_to_be_told = secrets_in(wire.headers)

    async def stream(self, attempt: Attempt) -> AsyncGenerator[Piece | Completion, None]:
        body = request_body(attempt, self._strict(attempt.output), self._wire)
        credential = await self._credential.headers()
        asking = Asking(
            credential,
            self._secrets(credential),
            partial(self._wire.hint, attempt.model),
            partial(self._credential.renewed, credential),
        )
        reply = Reply(Foreign(self._name, asking.secrets), self._wire.max_event_bytes, typed=attempt.output is not None)
        async with self._upstream.post(self._wire.path(attempt.model), body, attempt.pulse, asking) as response:
            read, received = response.read, attempt.pulse.received
            if self._is_whole(response):
                pieces = reply.read_whole(await self._whole(response))
                for piece in pieces:
                    yield piece
            tail = _Tail(response)
            while not reply.done:
                chunk = await (read() if reply.finish_reason is None else tail.read())
                pieces = reply.read(chunk)
                if not pieces:
                    received()
                attempt.meter.usage = reply.usage
                for piece in pieces:
                    yield piece
            if reply.failure is not None:
                raise reply.failure
        yield reply.completion()

    async def close(self) -> None:
        await self._upstream.close()

    def _secrets(self, credential: Mapping[str, str]) -> tuple[str, ...]:
        """What no message may tell. A credential is mostly that of the last attempt."""
        if credential != self._asked_by:
            self._asked_by, self._not_to_be_told = credential, secrets_in({**self._wire.headers, **credential})
        return self._not_to_be_told

    def _strict(self, output: OutputSchema | None) -> StrictSchema | None:
        if output is None:
            return None
        schema = self._schemas.get(output)
        if schema is None:
            schema = self._schemas[output] = strict(output.schema, lengths=self._wire.lengths)
        return schema

    def _is_whole(self, response: Response) -> bool:
        """Whether the reply is one JSON document. Raises ``RunError`` (upstream_invalid) for what is neither that nor
        a stream."""
        match response.content_type:
            case "text/event-stream":
                return False
            case "application/json":
                return True
            case other:
                message = f"the provider '{self._name}' answered with {other[:80]}, not with events"
                raise RunError(Reason.upstream_invalid, message)

    async def _whole(self, response: Response) -> bytes:
        body = bytearray()
        while received := await response.read():
            body += received
            if len(body) > self._wire.max_event_bytes:
                limit = self._wire.max_event_bytes
                message = f"the provider '{self._name}' sent a reply of more than {limit} bytes"
                raise RunError(Reason.upstream_invalid, message)
        return bytes(body)


def secrets_in(headers: Mapping[str, str]) -> tuple[str, ...]:
    """What must be in no message: what a header holds whose name says so, with and without its scheme. The longest
    first, so that none is cut by another."""
    values = [value.strip() for name, value in headers.items() if _TELLING.search(name)]
    said = {*values, *(value.rpartition(" ")[2] for value in values)}
    return tuple(sorted(filter(None, said), key=len, reverse=True))


class _Tail:
    """What comes after the finish reason: the usage and an end marker, if a server sends them. The answer is complete,
    so a server that says no more, or hangs up, has done no harm."""

    __slots__ = ("_response", "_until")

    def __init__(self, response: Response) -> None:
        self._response = response
        self._until: float | None = None

    async def read(self) -> bytes:
        """No bytes are the end of it. All reads together take ``_TAIL_SECONDS`` at most, whatever the server sends."""
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + _TAIL_SECONDS
        try:
            async with asyncio.timeout_at(self._until):
                return await self._response.read()
        except (TimeoutError, CutError):
            return b""
