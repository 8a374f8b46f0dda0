"""What a protocol is to the services: how it reads a call and how it tells the outcome. One for each content type."""

from typing import Protocol

from starlette.datastructures import Headers
from starlette.types import Send

from deltawire.domain.events import Error
from deltawire.transports.codec import Encode
from deltawire.transports.http.event_stream import Media
from deltawire.transports.http.rpc.encodings import Encoding


class Wire(Protocol):
    transport: str
    """Its name in the log."""
    content_type: str
    encoding: Encoding

    def timeout(self, headers: Headers) -> float | None:
        """The caller's deadline in seconds. Raises ``RunError`` for headers that the protocol does not allow."""
        ...

    def message(self, headers: Headers, body: bytes, limit: int) -> bytes:
        """The request's message. Raises ``RunError``, also for one of more than ``limit`` bytes."""
        ...

    async def send_error(self, send: Send, error: Error) -> None:
        """The outcome of a call that failed before anything was sent."""
        ...


class UnaryWire(Wire, Protocol):
    async def send_answer(self, send: Send, message: bytes, run_id: str | None) -> None: ...


class StreamWire(Wire, Protocol):
    def media(self, message: Encode) -> Media: ...

    def sending(self, send: Send) -> Send:
        """How the bytes of the stream are written."""
        ...
