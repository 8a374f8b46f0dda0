"""A body within its limit is read whole; anything else ends before it costs anything."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from deltawire.domain.errors import Reason, RunError
from deltawire.engine.admission import cut_short
from deltawire.engine.engine import Engine, Run
from deltawire.transports.http.request import EXCHANGE, read_body
from deltawire.transports.http.settings import HttpSettings
from tests.transports.asgi import GONE, Receives, part

pytestmark = pytest.mark.anyio


async def read(receives: Receives, length: str | None = None, limit: int = 10) -> bytes:
    headers = [] if length is None else [(b"content-length", length.encode("latin-1"))]
    return await read_body(arrived(), {"headers": headers}, receives, HttpSettings(max_body_bytes=limit))


def arrived() -> Run:
    return Engine({}, [], ThreadPoolExecutor()).arrive("sse")


@pytest.mark.parametrize("length", [None, "10", "5", "0", "nonsense", "-1", "²"])
async def test_a_body_within_the_limit_is_read_whole(length: str | None) -> None:
    assert (
        await read(Receives(part(b"01234", more=True), part(b"", more=True), part(b"56789")), length) == b"0123456789"
    )


class Came:
    """An exchange whose request has come whole."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def whole_body(self) -> bytes | None:
        return self._body

    def when_left(self, left: Callable[[str], None] | None) -> None: ...


@pytest.mark.parametrize("headers", [[], [(b"content-length", b"11")]])
async def test_a_body_that_has_come_whole_is_held_to_the_limit_too(headers: list[tuple[bytes, bytes]]) -> None:
    receives, limit = Receives(), HttpSettings(max_body_bytes=10)
    came = [{"headers": headers, "extensions": {EXCHANGE: Came(b"x" * length)}} for length in (10, 11)]
    assert await read_body(arrived(), came[0], receives, limit) == b"x" * 10
    with pytest.raises(RunError, match="larger than 10 bytes") as raised:
        await read_body(arrived(), came[1], receives, limit)
    assert (raised.value.reason, receives.taken) == (Reason.request_too_large, 0)


async def test_an_empty_body_is_empty() -> None:
    assert await read(Receives({"type": "http.request"}), "0") == b""


@pytest.mark.parametrize("length", ["11", "00000000000000000000000000011", "9" * 5000])
async def test_a_body_that_is_announced_too_large_is_not_read(length: str) -> None:
    receives = Receives(part(b"x"))
    with pytest.raises(RunError, match="larger than 10 bytes") as raised:
        await read(receives, length)
    assert (raised.value.reason, receives.taken) == (Reason.request_too_large, 0)


@pytest.mark.parametrize("length", [None, "3"])
async def test_a_body_that_becomes_too_large_is_not_read_further(length: str | None) -> None:
    receives = Receives(part(b"012345", more=True), part(b"678901", more=True), part(b"never"))
    with pytest.raises(RunError) as raised:
        await read(receives, length)
    assert (raised.value.reason, receives.taken) == (Reason.request_too_large, 2)


@pytest.mark.parametrize("before", [[], [part(b"01", more=True)]])
async def test_a_caller_who_leaves_in_the_middle_is_gone(before: list[dict[str, object]]) -> None:
    with pytest.raises(RunError) as raised:
        await read(Receives(*before, GONE), "9")
    assert raised.value.reason is Reason.canceled


async def test_a_run_that_is_stopped_waits_for_its_body_no_longer() -> None:
    run = arrived()

    async def never() -> dict[str, object]:
        run.stop(cut_short())
        return await asyncio.get_running_loop().create_future()

    patience = asyncio.timeout(5)
    with pytest.raises(RunError) as raised:
        async with patience:
            await read_body(run, {"headers": []}, never, HttpSettings(body_timeout=60))
    assert raised.value.reason is Reason.draining
    assert not patience.expired()
