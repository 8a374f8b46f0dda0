"""``/healthz``: the process is alive. ``/readyz``: it takes runs, and is to be sent more."""

from starlette.types import Receive, Scope, Send

from deltawire.engine.admission import Admission
from deltawire.transports.http.replies import send_json


async def healthz(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    await send_json(send, b'{"status":"ok"}')


class Readyz:
    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        if self._admission.open:
            await send_json(send, b'{"status":"ready"}')
        else:
            await send_json(send, b'{"status":"draining"}', status=503)
