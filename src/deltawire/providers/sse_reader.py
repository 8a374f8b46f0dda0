"""Server-sent events from bytes, as the WHATWG standard parses them (HTML, §9.2.6), for any cut of the bytes.

In: what one network read brought. Out: the data of the events that it completed. Works on bytes: a character that is
cut by a read is never decoded in halves, and only CR, LF and CRLF end a line.
"""

from deltawire.domain.errors import Reason, RunError

_BOM = b"\xef\xbb\xbf"


class SseReader:
    """Reads one stream. Names, ids and retry hints of events are dropped: the wires that we read say it all in the
    data."""

    __slots__ = ("_buffer", "_data", "_started", "_swallow_lf", "max_event_bytes")

    def __init__(self, max_event_bytes: int) -> None:
        self.max_event_bytes = max_event_bytes
        self._buffer = b""  # the line that is not complete yet
        self._data: list[bytes] = []  # the data lines of the event that is not complete yet
        self._started = False
        self._swallow_lf = False  # the last line ended in a CR at the very end of a read: an LF may belong to it

    def feed(self, received: bytes) -> list[bytes]:
        """The data of each event that is complete now, in order; empty data is left out, being a keep-alive.

        Raises ``RunError`` (upstream_invalid) when one event grows over ``max_event_bytes``.
        """
        if (
            not self._buffer
            and not self._data
            and self._started
            and received.startswith(b"data: ")
            and received.endswith(b"\n\n")
            and b"\r" not in received
        ):
            events = _whole_events(received)
            if events is not None:
                return events
        return self._lines(received)

    def end(self) -> list[bytes]:
        """The stream is over. The standard drops an event that no blank line ended; servers forget that line, so we do
        not.

        Whether that last data is whole is for its reader to say.
        """
        events = self._lines(b"\n\n")
        self._buffer = b""
        return events

    def _lines(self, received: bytes) -> list[bytes]:
        if self._swallow_lf and received:
            self._swallow_lf = False
            if received.startswith(b"\n"):
                received = received[1:]
        if not self._started:
            received = self._buffer + received
            self._buffer = b""
            if len(received) < len(_BOM) and _BOM.startswith(received):
                self._buffer = received
                return []
            received = received.removeprefix(_BOM)
            self._started = True
        if b"\r" in received:
            self._swallow_lf = received.endswith(b"\r")
            received = received.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, newline, rest = received.partition(b"\n")
        if not newline:
            self._keep(first)
            return []
        lines = rest.split(b"\n")
        lines.insert(0, self._buffer + first)
        self._buffer = b""
        self._keep(lines.pop())
        return self._events(lines)

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if not line:
                if data:
                    event = b"\n".join(data)
                    data.clear()
                    if event:
                        events.append(event)
            elif line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif line == b"data":
                data.append(b"")
        if data and sum(map(len, data)) > self.max_event_bytes:
            raise self._too_large()
        return events

    def _keep(self, begun: bytes) -> None:
        if begun:
            self._buffer += begun
            if len(self._buffer) > self.max_event_bytes:
                raise self._too_large()

    def _too_large(self) -> RunError:
        self._buffer = b""
        self._data.clear()
        return RunError(
            Reason.upstream_invalid, f"the provider sent an event of more than {self.max_event_bytes} bytes"
        )


def _whole_events(received: bytes) -> list[bytes] | None:
    """The usual read: whole events of one data line each. ``None`` if it is not that after all."""
    events = received[6:-2].split(b"\n\ndata: ")
    for event in events:
        if b"\n" in event or not event:
            return None
    return events
