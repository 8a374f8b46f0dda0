"""uvicorn's HTTP protocol, but for callers who speak HTTP/1.0.

They do not know chunks (RFC 9112 §6.1): a stream for them is framed by the end of the connection alone, and there is no
interim ``100 Continue`` (RFC 9110 §10.1.1).
"""

from typing import TYPE_CHECKING

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent


class HttpProtocol(HttpToolsProtocol):
    @override
    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        # The app has not begun: its task is only scheduled. uvicorn has no way to ask for another cycle.
        if self.scope["http_version"] == "1.0" and type(self.cycle) is RequestResponseCycle:
            self.cycle.__class__ = _UntilClosed
            self.cycle.waiting_for_100_continue = False


class _UntilClosed(RequestResponseCycle):
    @override
    async def send(self, message: "ASGISendEvent") -> None:
        if message["type"] == "http.response.start":
            if all(name.lower() != b"content-length" for name, _ in message.get("headers", [])):
                self.chunked_encoding = False  # with a length of nothing; each part of the body then adds its own
        elif message["type"] == "http.response.body" and self._has_no_length:
            self.expected_content_length = len(message.get("body", b""))
        await super().send(message)

    @property
    def _has_no_length(self) -> bool:
        return self.chunked_encoding is False and self.expected_content_length == 0
