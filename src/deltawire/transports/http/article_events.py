"""An answer as the streaming-chat article's readers expect it: server-sent events whose data is the raw text. Pure.

In: events, or their texts. Out: one SSE event (HTML, §9.2) a piece, then ``end`` or ``error``. What the model thinks
and what the run is called is left out.
"""

from collections.abc import Sequence

from deltawire.domain.events import Error, Event, Finished, Reasoning, Text
from deltawire.transports import codec

_END = b"event: end\ndata: \n\n"
"""It has data, though none of it is text: to readers an event without data is none."""


class Encoder:
    """One answer. A line break of an SSE stream may be LF, CR or CRLF, so that a CR cannot be data: it becomes LF, and
    CRLF does so as one, also where it is cut over two pieces."""

    __slots__ = ("_after_cr",)

    def __init__(self) -> None:
        self._after_cr = False

    def encode(self, event: Event) -> bytes:
        if isinstance(event, Text):
            lines = self.quoted(event)
            return b"data: " + lines + b"\n\n" if lines else b""
        return self.event(event)

    def event(self, event: Event) -> bytes:
        """An event that is no piece; nothing for one that is not told."""
        match event:
            case Finished():
                return _END
            case Error():
                return codec.sse(event)
            case _:
                return b""

    def quoted(self, piece: Text | Reasoning) -> bytes:
        """The text as it stands after the first ``data: ``: each further line has its own."""
        if isinstance(piece, Reasoning):
            return b""
        text = piece.text
        if self._after_cr or "\r" in text:
            rest = text[1:] if self._after_cr and text[:1] == "\n" else text
            self._after_cr = text.endswith("\r")
            text = rest.replace("\r\n", "\n").replace("\r", "\n")
        return text.encode().replace(b"\n", b"\ndata: ")

    def pieces(self, kind: type[Event], texts: Sequence[bytes]) -> bytes:  # noqa: ARG002  (pieces are of one kind here)
        """Adjacent pieces as one event. ``texts`` are their words as ``quoted`` makes them."""
        return b"data: " + b"".join(texts) + b"\n\n"
