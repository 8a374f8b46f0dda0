"""A body that came compressed, though nobody asked for it, is read as what it says, in bounded steps."""

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable

import pytest

from deltawire.providers.http1.content_coding import plain
from deltawire.providers.http1.errors import ContentCodingError, CutError
from tests.providers.http1 import LOOPS

pytestmark = pytest.mark.anyio

TEXT = b"data: " + b"0123456789abcdef" * 4096


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return request.param


def deflated(data: bytes, wbits: int) -> bytes:
    compress = zlib.compressobj(wbits=wbits)
    return compress.compress(data) + compress.flush()


CODED = {
    "gzip": ("gzip", gzip.compress(TEXT)),
    "members": ("x-gzip", gzip.compress(TEXT[:1000]) + gzip.compress(TEXT[1000:])),
    "deflate": ("Deflate", deflated(TEXT, zlib.MAX_WBITS)),
    "raw deflate": ("deflate", deflated(TEXT, -zlib.MAX_WBITS)),
    "nothing": ("identity", TEXT),
}


@pytest.mark.parametrize("kind", CODED)
@pytest.mark.parametrize("step", [1, 7, 100_000])
async def test_a_compressed_body_is_read_as_what_it_says(kind: str, step: int) -> None:
    coding, data = CODED[kind]
    parts = [data[at : at + step] for at in range(0, len(data), step)] if len(data) < 10_000 else [data]
    assert await inflated(coding, parts) == TEXT


@pytest.mark.parametrize("kind", ["gzip", "deflate", "raw deflate"])
async def test_a_compressed_body_that_ends_early_or_is_none_is_a_cut(kind: str) -> None:
    coding, data = CODED[kind]
    for parts in ([data[:-6]], [data[: len(data) // 2]], [b"data: no such thing\n\n"]):
        with pytest.raises(CutError):
            await inflated(coding, parts)


async def test_a_little_that_says_much_is_read_in_bounded_pieces() -> None:
    read = plain("gzip", reader([gzip.compress(bytes(64 * 1024 * 1024))]))
    total = 0
    while part := await read():
        assert len(part) <= 256 * 1024
        total += len(part)
    assert total == 64 * 1024 * 1024


@pytest.mark.parametrize("kind", ["much", "nothing, many times"])
async def test_a_little_that_says_much_leaves_others_their_turns(kind: str) -> None:
    data = gzip.compress(bytes(64 * 1024 * 1024)) if kind == "much" else gzip.compress(b"") * 300
    loop, others, leaving = asyncio.get_running_loop(), 0, False

    def another() -> None:
        nonlocal others
        others += 1
        if not leaving:
            loop.call_soon(another)

    loop.call_soon(another)
    read = plain("gzip", reader([data]))
    while await read():
        pass
    leaving = True
    assert others >= 250


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, br", "\x00" + "x" * 500])
async def test_a_coding_that_is_not_read_is_named(coding: str) -> None:
    with pytest.raises(ContentCodingError) as failed:
        plain(coding, reader([]))
    assert len(str(failed.value)) < 200
    assert str(failed.value).isprintable()


def reader(parts: list[bytes]) -> Callable[[], Awaitable[bytes]]:
    waiting = iter(parts)

    async def read() -> bytes:
        return next(waiting, b"")

    return read


async def inflated(coding: str, parts: list[bytes]) -> bytes:
    read, said = plain(coding, reader(parts)), bytearray()
    while part := await read():
        said += part
    return bytes(said)
