"""Any bytes, in any cut, to ``SseReader``: the standard's events, within its limit, and nothing of them kept."""

from typing import cast

from deltawire.providers.sse_reader import SseReader
from tests.fuzz.sse_reference import Block, blocks
from tests.fuzz.target import Target, cut, uncut

LARGE, SMALL = 1 << 20, 24


def check(given: bytes) -> None:
    stream, ways = cut(given)
    reference = blocks(stream)
    events = [block.event for block in reference if block.event is not None]
    for parts in ways:
        read, overflowed = _read(parts, LARGE)
        assert read == events, (read, events, parts)
        assert not overflowed
        read, overflowed = _read(parts, SMALL)
        _check_limit(read, reference, overflowed=overflowed)


def _read(parts: list[bytes], limit: int) -> tuple[list[bytes], bool]:
    reader = SseReader(limit)
    read: list[bytes] = []
    for part in parts:
        read += reader.feed(part)
        assert _held(reader) <= limit, f"the reader keeps {_held(reader)} bytes, its limit is {limit}"
    read += reader.end()
    assert _held(reader) == 0, "something is kept though the stream has ended"
    return read, reader.overflowed


def _held(reader: SseReader) -> int:
    """Bytes in whatever the reader has in lists."""
    kept = [part for name in reader.__slots__ for part in _parts(getattr(reader, name))]
    return sum(map(len, kept))


def _parts(kept: object) -> list[bytes]:
    return cast("list[bytes]", kept) if isinstance(kept, list) else []


def _check_limit(read: list[bytes], reference: list[Block], *, overflowed: bool) -> None:
    """An event over the limit ends it all, however it is cut. Another line that is too long does so only where it was
    cut: one that came whole is passed over."""
    must = next((i for i, block in enumerate(reference) if block.data_size > SMALL), None)
    may = next((i for i, block in enumerate(reference) if block.most_held > SMALL), None)
    if not overflowed:
        assert must is None
        must = may = len(reference)
    assert may is not None, "overflowed without reason"
    sure, most = ([block.event for block in reference[:end] if block.event is not None] for end in (may, must))
    assert sure == read[: len(sure)]
    assert read == most[: len(read)]


TARGET = Target(
    check,
    uncut(
        b"data: a\n\ndata: b\n\n",
        b"\xef\xbb\xbfdata:a\r\n\r\nevent: x\rdata: b\rdata: c\r\rdata",
        b"data: a\r\ndata: b\r\n\r\ndata: c\r\n",
        b": hi\n\nid: 7\nretry: 1\ndata\ndata:\n\ndata: [DONE]",
        b"data: " + b"x" * 30 + b"\n\ndata: b\n\n",
        b": " + b"x" * 40 + b"\ndata: a\n\n",
    ),
    (b"data: ", b"data:", b"data", b"\n\n", b"\r\n", b"\r\r", b"event: ", b"id: ", b"retry: ", b": ", b"\xef\xbb\xbf"),
)
