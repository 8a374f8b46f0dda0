"""What a fuzz target is, and how an input says where its bytes are cut."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

_SHORT = 1000  # in bytes


class Target(NamedTuple):
    """``check`` takes any bytes, and raises for what must not be. ``seeds`` are inputs to begin with; ``words`` are
    what the reader knows, and nobody would guess."""

    check: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...]


def cut(given: bytes) -> tuple[bytes, list[list[bytes]]]:
    """A stream, and the ways in which it may come. The input's first byte is the number of cuts (of which seven count),
    each following byte the length of a part."""
    count = given[0] & 7 if given else 0
    stream = given[1 + count :]
    return stream, ways(stream, given[1 : 1 + count])


def ways(stream: bytes, lengths: bytes) -> list[list[bytes]]:
    """The stream whole, in parts of these lengths, and byte by byte if it is short."""
    places, at = [0], 0
    for length in lengths:
        at += length
        places.append(min(at, len(stream)))
    found = [[stream] if stream else [], [stream[a:b] for a, b in pairwise([*places, len(stream)]) if a < b]]
    if len(stream) <= _SHORT:
        found.append([bytes([byte]) for byte in stream])
    return found


def uncut(*streams: bytes) -> tuple[bytes, ...]:
    """Streams as inputs that ask for no cut, and the same cut into small parts."""
    return tuple(head + stream for stream in streams for head in (b"\0", b"\3\4\1\7"))
