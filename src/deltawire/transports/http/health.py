"""``/healthz``: the process is alive. ``/readyz``: it takes runs."""

from starlette.types import Receive, Scope, Send

from deltawire.transports.http.replies import send_json


async def healthz(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    await send_json(send, b'{"status":"ok"}')


async def readyz(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    await send_json(send, b'{"status":"ready"}')
