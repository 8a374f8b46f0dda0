"""A body that a server has compressed, though it was asked not to: gzip and deflate (RFC 9110, §8.4.1) are read, a
bounded piece at a time."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable

from deltawire.providers.http1.errors import ContentCodingError, CutError

_MOST = 256 * 1024
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class Inflated:
    """Reads what another reader's bytes say."""

    __slots__ = ("_begun", "_compressed", "_inflater", "_read")

    def __init__(self, read: Callable[[], Awaitable[bytes]]) -> None:
        self._read = read
        self._compressed = b""
        self._inflater = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._begun = False

    async def read(self) -> bytes:
        """At most 256 KiB, and no bytes at the end. Raises ``CutError`` where it makes no sense or has no end."""
        while True:
            if self._compressed:  # a thousand times as much may be in it: all other runs have their turns meanwhile
                await asyncio.sleep(0)
            else:
                self._compressed = await self._read()
                if not self._compressed:
                    if self._begun and not self._inflater.eof:
                        raise CutError("the body ends in the middle")
                    return b""
            try:
                inflated = self._step()
            except zlib.error:
                raise CutError("the body is not compressed as its head says") from None
            if inflated:
                return inflated

    def _step(self) -> bytes:
        if self._inflater.eof:  # a body of several members (RFC 1952, §2.2)
            self._inflater = zlib.decompressobj(_GZIP_OR_ZLIB)
        elif not self._begun and self._compressed[0] != 0x1F and self._compressed[0] & 0x0F != 8:
            self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)  # what many servers take deflate for
        self._begun = True
        inflated = self._inflater.decompress(self._compressed, _MOST)
        self._compressed = self._inflater.unconsumed_tail or self._inflater.unused_data
        return inflated


def plain(coding: str, read: Callable[[], Awaitable[bytes]]) -> Callable[[], Awaitable[bytes]]:
    """The reader of what was encoded, from a reader of what was sent. Raises ``ContentCodingError``."""
    match coding.strip().lower():
        case "" | "identity":
            return read
        case "gzip" | "x-gzip" | "deflate":
            return Inflated(read).read
        case other:
            raise ContentCodingError(ascii(other[:40]))
