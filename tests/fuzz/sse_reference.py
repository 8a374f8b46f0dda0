"""Server-sent events as the standard tells it (HTML, §9.2.6), one step after the other, from the whole stream at once.

Slow, and nothing but obvious: what ``SseReader`` is held against.
"""

import re
from typing import NamedTuple

_LINE_END = re.compile(rb"\r\n|\n|\r")


class Block(NamedTuple):
    """What stands between two blank lines."""

    event: bytes | None
    """The data, where there is any."""
    data_size: int
    """Bytes of the lines of data, each with one for its end."""
    most_held: int
    """The most bytes that a reader may have to keep at once: the lines of data, and a line that is not complete."""


def blocks(stream: bytes) -> list[Block]:
    """All of a stream's, the last one though no blank line ends it. The standard drops that one; the reader's ``end``
    gives it out, for servers that forget the line."""
    found: list[Block] = []
    data: list[bytes] = []
    size = most = 0
    for line in [*_LINE_END.split(stream.removeprefix(b"\xef\xbb\xbf")), b""]:
        most = max(most, size + len(line))
        if not line:
            # The standard dispatches an event of one empty line of data, too; servers send it to keep a connection.
            found.append(Block(b"\n".join(data) or None, size, most))
            data, size, most = [], 0, 0
            continue
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
            size += len(line) + 1
            most = max(most, size)
    return found
