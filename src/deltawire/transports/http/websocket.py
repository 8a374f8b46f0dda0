"""``/v1/ws``: many runs on one WebSocket (RFC 6455), subprotocol ``deltawire.v1``.

In: messages that start or cancel a run. Out: the runs' events, each with its run's id. ``websocket_messages`` says what
the messages are, ``websocket_connection`` how they are read and written.
"""

from starlette.types import Receive, Scope, Send
from typing_extensions import override

from deltawire.domain.errors import Reason, RunError
from deltawire.engine.admission import draining
from deltawire.engine.engine import Engine
from deltawire.transports.http import websocket_messages as messages
from deltawire.transports.http.replies import replying, send_problem
from deltawire.transports.http.settings import HttpSettings
from deltawire.transports.http.websocket_connection import Connection, WebSocketMessage, accepted, content
from deltawire.transports.http.websocket_messages import CancelMessage, RunMessage

SUBPROTOCOL = "deltawire.v1"


class WebSocket:
    """An ASGI app for the scope ``websocket``."""

    def __init__(self, engine: Engine, settings: HttpSettings) -> None:
        self._engine = engine
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if await accepted(scope, receive, send, self._engine, SUBPROTOCOL):
            await _Runs(self._engine, self._settings, receive, send).serve()


class UpgradeRequired:
    """An ASGI app for a GET that is no handshake: often one whose headers a proxy has dropped."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        error = RunError(
            Reason.upgrade_required,
            f"{scope['path'][:100]} is a WebSocket; a proxy on the way must pass the headers Upgrade and Connection on",
        )
        headers = [(b"upgrade", b"websocket"), (b"connection", b"upgrade")]
        await send_problem(send, self._engine.arrive("http").refuse(error), headers)


class NoWebSocket:
    """An ASGI app for handshakes at paths where no WebSocket is."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        error = RunError(Reason.unknown_path, f"no WebSocket is at {scope['path'][:100]}; it is at /v1/ws")
        await send_problem(replying(scope, send), self._engine.arrive("http").refuse(error))


class _Runs(Connection):
    """Any number of runs at once, each under the id that its caller gave it."""

    def __init__(self, engine: Engine, settings: HttpSettings, receive: Receive, send: Send) -> None:
        super().__init__(engine, settings, receive, send, messages.Encoder(None))

    @override
    def take(self, message: WebSocketMessage) -> None:
        sent = content(message)
        try:
            match messages.read(sent):
                case CancelMessage(id=run):
                    if run in self.live:
                        self.live[run].cancel("the caller canceled the run")
                case asked:
                    self._run(asked)
        except RunError as error:
            run = messages.id_in(sent, error)
            self._refuse(error, run if run not in self.live else None)

    def _run(self, asked: RunMessage) -> None:
        if asked.id in self.live:
            # Without an id: with it, the caller would take it for the end of the run that has it.
            raise RunError(Reason.duplicate_id, f"a run with the id '{asked.id}' is under way on this socket")
        limit = self.settings.max_runs_per_socket
        if self.draining:
            self._refuse(draining(), asked.id)
        elif len(self.live) >= limit:
            error = RunError(Reason.overloaded, f"{limit} runs are under way on this socket (http.max_runs_per_socket)")
            self._refuse(error, asked.id)
        else:
            self.start(asked.id, self.engine.arrive("ws"), asked.function, asked, messages.Encoder(asked.id))

    def _refuse(self, error: RunError, run: str | None) -> None:
        self.stray.put(messages.Encoder(run).event(self.engine.arrive("ws").refuse(error)))
