"""A body is read by the cheaper way just as aiohttp reads it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from deltawire.providers.body_reader import reading
from tests.upstream import Gate, Step, Upstream, body, close, head, raw, repeat, reply

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def content_of(*steps: Step) -> AsyncGenerator[aiohttp.StreamReader]:
    async with Upstream() as upstream, aiohttp.ClientSession() as session:
        upstream.script(*steps)
        async with session.post(upstream.base_url, json={}) as response:
            yield response.content


async def test_the_cheaper_way_is_known_for_the_aiohttp_that_is_installed() -> None:
    async with content_of(head(), body(b"a")) as content:
        assert reading(content) != content.readany


async def test_each_part_comes_as_it_arrives() -> None:
    gate = Gate()
    async with content_of(head(), body(b"one"), gate.wait(), body(b"two")) as content:
        read = reading(content)
        assert await read() == b"one"
        gate.open()
        assert await read() == b"two"
        assert await read() == b""
        assert content.is_eof()


async def test_a_body_that_comes_faster_than_it_is_read_pauses_and_goes_on() -> None:
    gate = Gate()
    parts = [body(bytes([number % 251]) * 10_000) for number in range(1000)]
    async with content_of(head(), *parts, gate.wait()) as content:
        read = reading(content)
        received = [await read()]
        while sum(map(len, received)) < 10_000_000:
            received.append(await read())
        gate.open()
        assert b"".join(received) == b"".join(bytes([number % 251]) * 10_000 for number in range(1000))
        assert await read() == b""


async def test_many_tiny_chunks_are_all_read() -> None:
    async with content_of(head(), repeat(body(b"x"), 5000)) as content:
        read = reading(content)
        count = 0
        while part := await read():
            count += len(part)
        assert count == 5000


async def test_a_body_of_nothing_and_one_that_is_cut_end_as_they_do() -> None:
    async with content_of(reply(200, b"")) as content:
        assert await reading(content)() == b""
    gate = Gate()
    async with content_of(head(), body(b"a"), gate.wait(), raw(b"5\r\n"), close()) as content:
        read = reading(content)
        assert await read() == b"a"
        gate.open()
        with pytest.raises(aiohttp.ClientPayloadError):
            await read()


async def test_a_connection_that_ended_unsaid_is_the_providers_failure() -> None:
    """aiohttp closes it at a malformed chunk, and tells nobody; to read then is a ``RuntimeError`` of its own."""
    gate = Gate()
    async with content_of(head(), body(b"a"), gate.wait(), raw(b"zz\r\n")) as content:
        read = reading(content)
        assert await read() == b"a"
        gate.open()
        await asyncio.sleep(0.1)  # the reader is elsewhere meanwhile
        with pytest.raises(aiohttp.ClientPayloadError):
            await read()
