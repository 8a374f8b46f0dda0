"""A message is under way while the next one is waited for: whatever becomes of it, its reply keeps the order and is
quiet."""

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn, cast

import pytest
from grpc import aio

from deltawire.domain.errors import Reason, RunError
from deltawire.engine.engine import Engine, Run
from deltawire.transports.grpc.reply import Context, Reply

pytestmark = pytest.mark.anyio


class Call:
    """What a reply uses of gRPC's context; the caller has room for a message when the test says so."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.room: list[asyncio.Future[None]] = []

    async def abort(self, *_: object) -> NoReturn:
        self.sent.append(b"status")
        raise aio.AbortError

    async def send_initial_metadata(self, metadata: object) -> None:
        self.metadata = metadata

    async def write(self, message: bytes) -> None:
        self.sent.append(message)
        self.room.append(asyncio.get_running_loop().create_future())
        await self.room[-1]


def replying() -> tuple[Call, Reply]:
    call = Call()
    return call, Reply(cast(Context, cast(Any, call)), arrived(), 30)


def arrived() -> Run:
    return Engine({}, [], ThreadPoolExecutor()).arrive("grpc")


async def test_a_message_waits_until_there_was_room_for_the_one_before() -> None:
    call, reply = replying()
    assert not reply.put(b"1"), "the metadata goes first"
    await reply.write(b"1")
    assert (call.sent, reply.put(b"2")) == ([b"1"], False)
    writing = asyncio.ensure_future(reply.write(b"2"))
    await asyncio.sleep(0)
    assert (call.sent, reply.writing) == ([b"1"], True)
    call.room[0].set_result(None)
    await writing
    call.room[1].set_result(None)
    assert reply.put(b"3")
    flushing = asyncio.ensure_future(reply.flush())
    await asyncio.sleep(0)
    assert not flushing.done()
    call.room[2].set_result(None)
    await flushing
    assert (call.sent, reply.writing) == ([b"1", b"2", b"3"], False)


@pytest.mark.parametrize("early", [True, False], ids=["fails before the end", "fails after the end"])
async def test_of_a_message_that_failed_when_nobody_waited_nothing_is_logged(
    caplog: pytest.LogCaptureFixture, *, early: bool
) -> None:
    call, reply = replying()
    await reply.write(b"1")
    if early:
        call.room[0].set_exception(aio.UsageError())
    reply.close()
    if not early:
        call.room[0].set_exception(aio.UsageError())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    call.room.clear()
    del reply
    gc.collect()
    assert caplog.records == []


async def test_a_message_that_failed_is_heard_of_with_the_next_one() -> None:
    call, reply = replying()
    await reply.write(b"1")
    call.room[0].set_exception(aio.UsageError())
    with pytest.raises(aio.BaseError):
        reply.put(b"2")
    await reply.flush()
    reply.close()
    assert call.sent == [b"1"]


async def test_a_status_waits_for_the_last_message() -> None:
    call, reply = replying()
    await reply.write(b"1")
    failing = asyncio.ensure_future(reply.fail(arrived().refuse(RunError(Reason.upstream_truncated, "cut"))))
    await asyncio.sleep(0)
    assert call.sent == [b"1"]
    call.room[0].set_result(None)
    with pytest.raises(aio.AbortError):
        await failing
    assert call.sent == [b"1", b"status"]
