"""The next bytes of a provider's body, for less than aiohttp's own ``readany`` takes.

After each part that is read, aiohttp tells its parser and the transport to go on, whether or not they were paused. With
a part for each token that is a tenth of what a token costs.
"""

# aiohttp has no public way to the parts. Where they are not as they are known here, its own way is taken.
# pyright: reportPrivateUsage=false

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from aiohttp import ClientPayloadError, StreamReader

_KNOWN = {"_buffer", "_buffer_offset", "_cursor", "_eof", "_exception", "_http_chunk_splits", "_protocol", "_size"}


Read: TypeAlias = "Callable[[], Awaitable[bytes]]"


def reading(content: StreamReader) -> Read:
    """What does as ``content.readany``, but that a connection which ended unsaid is a failure of the provider's."""
    if type(content) is StreamReader and set(StreamReader.__slots__) >= _KNOWN:
        return partial(_read_any, content)
    return content.readany


async def _read_any(content: StreamReader) -> bytes:
    if content._exception is not None:
        raise content._exception
    parts = content._buffer
    while not parts and not content._eof:
        if not content._protocol.connected:  # aiohttp closed it, because the body is malformed
            raise ClientPayloadError("the body ends unsaid")
        await content._wait("readany")
    if len(parts) != 1 or content._buffer_offset or content._protocol._reading_paused:
        return content._read_nowait(-1)
    part = parts.popleft()
    content._size -= len(part)
    content._cursor += len(part)
    if content._http_chunk_splits:  # they are for who reads chunk by chunk
        content._http_chunk_splits.clear()
    return part
