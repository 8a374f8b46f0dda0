"""``POST /invoke``: ``{"type", "input"}`` in, the bare output back. For callers who want one clean JSON document."""

import msgspec
from msgspec import Raw
from starlette.types import Receive, Scope, Send

from deltawire.domain.errors import RunError
from deltawire.domain.events import Finished
from deltawire.engine.engine import Engine, Run
from deltawire.transports import codec
from deltawire.transports.http.replies import send_json, send_problem
from deltawire.transports.http.request import cancelled_when_left, read_body
from deltawire.transports.http.settings import HttpSettings


class Invoke:
    """An ASGI app. Takes any content type: many small HTTP clients send a form's unless told otherwise."""

    def __init__(self, engine: Engine, settings: HttpSettings) -> None:
        self._engine = engine
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._engine.arrive("invoke") as run:
            await self._run(run, scope, receive, send)

    async def _run(self, run: Run, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            run.admit()
            body = await read_body(run, scope, receive, self._settings)
            request = codec.invoke_request(body)
        except RunError as error:
            await send_problem(send, run.refuse(error))
            return
        with cancelled_when_left(run, scope, receive):
            match await run.outcome(request.type, request.run_request(), strict=True):
                case Finished() as finished:
                    await send_json(send, self._bare(request.type, finished), run_id=run.id)
                case error:
                    await send_problem(send, error)

    def _bare(self, name: str, finished: Finished) -> bytes:
        output = finished.output or Raw(b"null")
        if self._engine.plan(name).function.output.is_text:
            return msgspec.json.encode({"text": output})
        return bytes(output)
