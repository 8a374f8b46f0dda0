"""One request to AWS, or to what stands beside a container, on a connection of its own."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from deltawire.providers.http1.errors import CutError, Http1Error
from deltawire.providers.http1.origin import origin_of
from deltawire.providers.http1.pool import Pool
from deltawire.providers.http1.request import RequestHead

_LONGEST_REPLY = 1024 * 1024


class Answer(NamedTuple):
    status: int
    body: bytes


def host_of(url: str) -> str:
    """The header ``host`` of requests to it. Raises ``UnreachableError`` for what is no http(s) URL."""
    return origin_of(url).named


async def ask(method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
    """Raises ``Http1Error``, whose text holds no header's value."""
    origin = origin_of(url)
    request = RequestHead(origin, {"connection": "close"}).encode("", headers, len(body), method) + body
    pool = Pool(origin, keep_alive=0)
    try:
        connection = await pool.fresh()
        await connection.send(request)
        read = bytearray()
        while part := await connection.read():
            read += part
            if len(read) > _LONGEST_REPLY:
                raise CutError(f"a reply of more than {_LONGEST_REPLY} bytes")
        return Answer(connection.status, bytes(read))
    finally:
        await pool.close()


async def ask_in_time(seconds: float, method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
    """The same within a limit. Raises ``Http1Error``."""
    try:
        async with asyncio.timeout(seconds):
            return await ask(method, url, headers, body)
    except TimeoutError:
        raise Http1Error(f"no answer within {seconds:g} s") from None
