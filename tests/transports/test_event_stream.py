"""A streamed reply: its status, its signs of life, its end, whatever the pace of the run and of its reader."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from deltawire.domain.errors import Reason
from deltawire.domain.events import Error, Event, Finished, FinishReason, Reasoning, Started, Text
from deltawire.transports import codec
from deltawire.transports.http.event_stream import NDJSON, SSE, TEXT, Media, ResponseAborted, send_events
from deltawire.transports.http.settings import HttpSettings
from tests.transports.asgi import Sends

pytestmark = pytest.mark.anyio

STARTED = Started(run_id="r", function="f", variant=None, model="a:b", max_tokens=None, timeout=1.0)
FINISHED = Finished(run_id="r", output=None, finish_reason=FinishReason.stop, usage=None, attempts=1)
BEAT = 0.02
LIVELY = [SSE, NDJSON]


def error(*, partial: bool) -> Error:
    reason = Reason.upstream_error
    return Error(code=reason.code, reason=reason, message="m", run_id="r", partial=partial)


async def play(*steps: Event | asyncio.Event) -> AsyncGenerator[Event, None]:
    for step in steps:
        if isinstance(step, asyncio.Event):
            await step.wait()
        else:
            yield step


def reply(
    sends: Sends, media: Media, *steps: Event | asyncio.Event, hold: float = 60, heartbeat: float = 60
) -> asyncio.Task[None]:
    settings = HttpSettings(status_hold=hold, heartbeat=heartbeat)
    return asyncio.create_task(send_events(sends, play(*steps), media, "r", settings))


async def ended(task: asyncio.Task[None]) -> None:
    await asyncio.wait_for(task, 20)


@pytest.mark.parametrize("media", LIVELY, ids=["sse", "ndjson"])
async def test_events_leave_one_by_one_and_started_with_the_first_content(media: Media) -> None:
    sends = Sends()
    await ended(reply(sends, media, STARTED, Text("a"), Reasoning("b"), FINISHED))
    encode = media.encode
    assert sends.chunks == [
        encode(STARTED) + encode(Text("a")),
        encode(Reasoning("b")),
        encode(FINISHED),
    ]
    assert (sends.status, sends.ended) == (200, True)
    assert sends.headers == {
        "content-type": media.content_type.decode(),
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
        "x-content-type-options": "nosniff",
        "deltawire-run-id": "r",
    }


async def test_an_empty_answer_is_one_write() -> None:
    sends = Sends()
    await ended(reply(sends, SSE, STARTED, FINISHED))
    assert sends.chunks == [codec.sse(STARTED) + codec.sse(FINISHED)]


@pytest.mark.parametrize("media", [SSE, NDJSON, TEXT], ids=["sse", "ndjson", "text"])
async def test_a_failure_before_content_is_a_status(media: Media) -> None:
    sends = Sends()
    await ended(reply(sends, media, error(partial=False)))
    assert (sends.status, sends.headers["content-type"]) == (502, "application/problem+json")
    assert sends.chunks == [codec.problem(error(partial=False))]


@pytest.mark.parametrize("media", LIVELY, ids=["sse", "ndjson"])
async def test_a_failure_after_content_is_the_last_event(media: Media) -> None:
    sends = Sends()
    await ended(reply(sends, media, STARTED, Text("a"), error(partial=True)))
    assert sends.chunks[1:] == [media.encode(error(partial=True))]
    assert sends.ended


async def test_a_text_that_fails_is_cut() -> None:
    sends = Sends()
    with pytest.raises(ResponseAborted):
        await ended(reply(sends, TEXT, STARTED, Text("a"), error(partial=True)))
    assert (sends.chunks, sends.ended) == ([b"a"], False)


async def test_a_text_is_the_answer_alone() -> None:
    sends = Sends()
    await ended(reply(sends, TEXT, STARTED, Reasoning("hm"), Text("a"), Text("b"), FINISHED))
    assert sends.chunks == [b"a", b"b", b""]


async def test_a_text_has_no_early_headers_and_no_heartbeats() -> None:
    sends, gate = Sends(), asyncio.Event()
    task = reply(sends, TEXT, gate, STARTED, Text("a"), gate, FINISHED, hold=0, heartbeat=BEAT)
    await asyncio.sleep(BEAT * 4)
    assert sends.messages == []
    gate.set()
    await ended(task)
    assert sends.chunks == [b"a", b""]


@pytest.mark.parametrize(("media", "beat"), [(SSE, b":\n"), (NDJSON, b"\n")], ids=["sse", "ndjson"])
@pytest.mark.parametrize("hold", [0, BEAT])
async def test_after_the_hold_the_headers_go_out_and_heartbeats_follow(media: Media, beat: bytes, hold: float) -> None:
    sends, gate = Sends(), asyncio.Event()
    task = reply(sends, media, gate, STARTED, Text("a"), FINISHED, hold=hold, heartbeat=BEAT)
    await sends.sent(4)
    gate.set()
    await ended(task)
    *beats, first, last = sends.chunks
    assert len(beats) >= 3
    assert set(beats) == {beat}
    assert (first, last) == (media.encode(STARTED) + media.encode(Text("a")), media.encode(FINISHED))


async def test_a_failure_after_the_hold_is_an_event() -> None:
    sends, gate = Sends(), asyncio.Event()
    task = reply(sends, SSE, gate, error(partial=False), hold=0)
    await sends.sent(2)
    gate.set()
    await ended(task)
    assert (sends.status, sends.chunks) == (200, [b":\n", codec.sse(error(partial=False))])


async def test_content_before_the_hold_is_over_needs_no_heartbeat() -> None:
    sends, gate = Sends(), asyncio.Event()
    task = reply(sends, SSE, STARTED, Text("a"), gate, FINISHED, hold=BEAT, heartbeat=60)
    await sends.sent(2)
    await asyncio.sleep(BEAT * 3)  # past the hold
    gate.set()
    await ended(task)
    assert sends.chunks == [codec.sse(STARTED) + codec.sse(Text("a")), codec.sse(FINISHED)]


async def test_heartbeats_come_in_silence_only() -> None:
    sends = Sends()

    async def paced() -> AsyncGenerator[Event, None]:
        yield STARTED
        for _ in range(12):
            yield Text("a")
            await asyncio.sleep(BEAT / 2)
        yield FINISHED

    await send_events(sends, paced(), SSE, "r", HttpSettings(status_hold=BEAT, heartbeat=BEAT * 3))
    assert b":\n" not in sends.chunks


async def test_silence_in_the_middle_has_heartbeats() -> None:
    sends, gate = Sends(), asyncio.Event()
    task = reply(sends, SSE, STARTED, Text("a"), gate, Text("b"), FINISHED, hold=BEAT, heartbeat=BEAT)
    await sends.sent(5)
    gate.set()
    await ended(task)
    first, *beats, second, last = sends.chunks
    assert set(beats) == {b":\n"}
    assert (first, second, last) == (
        codec.sse(STARTED) + codec.sse(Text("a")),
        codec.sse(Text("b")),
        codec.sse(FINISHED),
    )


async def test_no_heartbeat_joins_an_event_that_is_being_written() -> None:
    sends, gate = Sends(), asyncio.Event()
    task = reply(sends, SSE, gate, STARTED, Text("a"), FINISHED, hold=0, heartbeat=BEAT)
    await sends.sent(2)
    sends.hold()
    gate.set()
    await sends.blocked()
    await asyncio.sleep(BEAT * 5)
    assert sends.waiting == 1  # one event or one heartbeat, and nothing behind it
    sends.let_go()
    await ended(task)
    assert sends.chunks[-2:] == [codec.sse(STARTED) + codec.sse(Text("a")), codec.sse(FINISHED)]


async def test_heartbeats_do_not_pile_up_while_nobody_reads() -> None:
    sends, gate = Sends(), asyncio.Event()
    task = reply(sends, SSE, gate, STARTED, Text("a"), FINISHED, hold=0, heartbeat=BEAT)
    await sends.sent(2)
    sends.hold()
    await sends.blocked()
    await asyncio.sleep(BEAT * 5)
    assert sends.waiting == 1
    before = len(sends.chunks)
    gate.set()
    sends.let_go()
    await ended(task)
    assert sends.chunks[before : before + 1] == [b":\n"]
    assert len(sends.chunks) <= before + 4


@pytest.mark.parametrize("last", [error(partial=False), FINISHED], ids=["error", "finished"])
async def test_the_end_waits_for_the_heartbeat_that_is_on_its_way(last: Event) -> None:
    sends, gate = Sends(), asyncio.Event()
    sends.hold()
    task = reply(sends, SSE, gate, *([] if isinstance(last, Error) else [STARTED]), last, hold=0, heartbeat=BEAT)
    await sends.blocked()  # the heartbeat's own headers
    gate.set()
    for _ in range(10):
        await asyncio.sleep(0)
    assert sends.messages == []
    sends.let_go()
    await ended(task)
    started = codec.sse(STARTED) if isinstance(last, Finished) else b""
    assert (sends.status, sends.chunks) == (200, [b":\n", started + codec.sse(last)])


async def test_a_failure_at_the_very_end_of_the_hold_is_told_once() -> None:
    for turns in range(6):
        sends = Sends()

        async def fails(turns: int = turns) -> AsyncGenerator[Event, None]:
            for _ in range(turns):
                await asyncio.sleep(0)
            yield error(partial=False)

        await send_events(sends, fails(), SSE, "r", HttpSettings(status_hold=0, heartbeat=60))
        if sends.status == 200:
            assert sends.chunks == [b":\n", codec.sse(error(partial=False))]
        else:
            assert (sends.status, sends.chunks) == (502, [codec.problem(error(partial=False))])
        assert sends.ended


@pytest.mark.parametrize("media", [SSE, TEXT], ids=["sse", "text"])
async def test_nothing_comes_after_the_end(media: Media) -> None:
    sends = Sends()
    await ended(reply(sends, media, STARTED, Text("a"), FINISHED, hold=0, heartbeat=BEAT / 4))
    before = len(sends.messages)
    await asyncio.sleep(BEAT * 2)
    assert len(sends.messages) == before


async def test_a_reply_whose_task_is_cancelled_falls_silent() -> None:
    sends = Sends()
    task = reply(sends, SSE, asyncio.Event(), hold=0, heartbeat=BEAT / 4)
    await sends.sent(3)
    task.cancel()
    await asyncio.wait([task])
    before = len(sends.messages)
    await asyncio.sleep(BEAT * 2)
    assert (task.cancelled(), len(sends.messages)) == (True, before)


async def test_a_send_that_fails_closes_the_run() -> None:
    closed = asyncio.Event()

    async def events() -> AsyncGenerator[Event, None]:
        try:
            yield STARTED
            yield Text("a")
        finally:
            closed.set()

    async def send(_: object) -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await send_events(send, events(), SSE, "r", HttpSettings())
    assert closed.is_set()
