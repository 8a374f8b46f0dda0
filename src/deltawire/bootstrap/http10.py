"""What uvicorn lacks for callers who speak HTTP/1.0.

They do not know chunks (RFC 9112 §6.1): a stream for them is framed by the end of the connection alone, and there is no
interim ``100 Continue`` (RFC 9110 §10.1.1).
"""

from typing import TYPE_CHECKING

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent


def answer_until_closed(cycle: RequestResponseCycle) -> None:
    """Let a request be answered so. To be called before the app begins: uvicorn cannot be asked for another cycle."""
    cycle.__class__ = _UntilClosed
    cycle.waiting_for_100_continue = False


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
