"""``/ws``: the streaming-chat article's surface on a WebSocket (RFC 6455), without a subprotocol.

In: prompts, each the raw text of a message. Out: the events of ``article_events``, each the text of a message. An
answer begins when the one before it has ended.
"""

from collections import deque

from starlette.types import Receive, Scope, Send
from typing_extensions import override

from deltawire.domain.errors import Reason, RunError
from deltawire.engine.admission import draining
from deltawire.engine.engine import Engine
from deltawire.transports.article import prompt_request, prompted
from deltawire.transports.http.article_events import Encoder
from deltawire.transports.http.settings import HttpSettings
from deltawire.transports.http.websocket_connection import POLICY, Connection, WebSocketMessage, accepted

_RUN = "answer"
"""There is one at a time, and callers never see its name."""


class ArticleWebSocket:
    """An ASGI app for the scope ``websocket``. Runs the function that is called ``function``."""

    def __init__(self, engine: Engine, settings: HttpSettings, function: str) -> None:
        self._engine = engine
        self._settings = settings
        self._function = function

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if await accepted(scope, receive, send, self._engine):
            await _Prompts(self._engine, self._settings, self._function, receive, send).serve()


class _Prompts(Connection):
    """One answer after another, in the order of their prompts."""

    def __init__(self, engine: Engine, settings: HttpSettings, function: str, receive: Receive, send: Send) -> None:
        super().__init__(engine, settings, receive, send, Encoder())
        self._function = function
        self._waiting: deque[str | None] = deque()
        """The prompts whose turn has not come; ``None`` is a message that is none."""

    @override
    def take(self, message: WebSocketMessage) -> None:
        limit = self.settings.max_runs_per_socket
        if len(self._waiting) >= limit:
            # An error would come in the middle of an answer, or have to wait as the prompts do.
            self.close(POLICY, f"{limit} prompts wait on this socket (http.max_runs_per_socket)")
            return
        self._waiting.append(message.get("text"))
        self.moved_on()

    @override
    def moved_on(self) -> None:
        while self._waiting and not self.live:
            prompt = self._waiting.popleft()
            run = self.engine.arrive("article_ws")  # its time counts from its turn
            try:
                if self.draining:
                    raise draining()
                if prompt is None:
                    raise RunError(Reason.unsupported_media, "the message is binary; send the prompt as a text message")
                name = prompted(self.engine, self._function)
            except RunError as error:
                self.stray.put(Encoder().event(run.refuse(error)))
            else:
                self.start(_RUN, run, name, prompt_request(prompt), Encoder())
