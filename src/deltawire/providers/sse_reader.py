"""Server-sent events from bytes, as the WHATWG standard parses them (HTML, §9.2.6), for any cut of the bytes.

In: what one network read brought. Out: the data of the events that it completed. Works on bytes: a character that is
cut by a read is never decoded in halves, and only CR, LF and CRLF end a line.
"""

_BOM = b"\xef\xbb\xbf"


class SseReader:
    """Reads one stream. Names, ids and retry hints are dropped: the wires that we read say it all in the data.

    ``overflowed`` turns true, and no event comes any more, once a single event has grown over ``max_event_bytes``.
    """

    __slots__ = ("_amid", "_begun", "_data", "_fresh", "_held", "_swallow_lf", "max_event_bytes", "overflowed")

    def __init__(self, max_event_bytes: int) -> None:
        self.max_event_bytes = max_event_bytes
        self.overflowed = False
        self._amid = False  # a part of an event was read already, or whatever else makes a read no whole one
        self._fresh = True  # nothing was read yet but perhaps a part of a byte order mark
        self._swallow_lf = False  # the last read ended in a CR: an LF may belong to it
        self._begun: list[bytes] = []  # the parts of the line that is not complete yet
        self._data: list[bytes] = []  # the data lines of the event that is not complete yet
        self._held = 0  # bytes in the two

    def feed(self, received: bytes) -> list[bytes]:
        """The data of each event that is complete now, in order; empty data is left out, being a keep-alive."""
        if (  # nothing but whole events of one line: what nearly every read brings
            not self._amid
            and received[:6] == b"data: "
            and received[-2:] == b"\n\n"
            and b"\r" not in received
            and len(received) <= self.max_event_bytes
        ):
            self._fresh = False
            data = received[6:-2]
            if b"\n" not in data:
                if data:
                    return [data]
            else:
                events = data.split(b"\n\ndata: ")
                # No line breaks but those between two of them, and no empty data.
                if data.count(b"\n") == 2 * len(events) - 2 and b"" not in events:
                    return events
        return self._lines(received)

    def end(self) -> list[bytes]:
        """The stream is over. The standard drops an event that no blank line ended; some servers forget that line, so
        here it comes out. Whether that last data is whole is for its reader to say."""
        return self._lines(b"\n\n")

    def _lines(self, received: bytes) -> list[bytes]:
        if self._fresh:
            received = b"".join(self._begun) + received
            self._begun.clear()
            self._held = 0
            if len(received) < len(_BOM) and _BOM.startswith(received):
                self._hold(received)
                return []
            received = received.removeprefix(_BOM)
            self._fresh = False
        elif self._swallow_lf and received:
            received = received.removeprefix(b"\n")
            self._swallow_lf = False
        if b"\r" in received:
            self._swallow_lf = received.endswith(b"\r")
            received = received.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, begun = received.split(b"\n")
        if lines and self._begun:
            lines[0] = b"".join(self._begun) + lines[0]
            self._held -= sum(map(len, self._begun))
            self._begun.clear()
        events = self._events(lines)
        if begun:
            self._hold(begun)
        self._amid = bool(self._held or self._swallow_lf or self.overflowed)
        return events

    def _hold(self, begun: bytes) -> None:
        self._begun.append(begun)
        self._held += len(begun)
        if self._held > self.max_event_bytes:
            self._overflow()

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
                self._count(line)
            elif line == b"data":
                data.append(b"")
                self._count(line)
            elif not line and data:
                event = b"\n".join(data)
                data.clear()
                self._held = 0
                if event and not self.overflowed:
                    events.append(event)
        return events

    def _count(self, line: bytes) -> None:
        self._held += len(line) + 1  # all of it: lines of empty data take memory, too
        if self._held > self.max_event_bytes:
            self._overflow()

    def _overflow(self) -> None:
        self.overflowed = True
        self._begun.clear()
        self._data.clear()
        self._held = 0
