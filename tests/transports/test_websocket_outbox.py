"""What leaves a WebSocket: whose turn it is, what merges, and when a run waits."""

import asyncio

import pytest
from msgspec import UNSET, Raw

from deltawire.domain.errors import Code, Reason
from deltawire.domain.events import Error, Finished, FinishReason, Reasoning, Started, Text, Usage
from deltawire.transports.http.websocket_messages import Encoder
from deltawire.transports.http.websocket_outbox import Outbox

pytestmark = pytest.mark.anyio

STARTED = Started(run_id="r", function="say", variant=None, model="openai:m", max_tokens=None, timeout=300.0)
FINISHED = Finished(
    run_id="r",
    output=Raw(b'{"a":1.10}'),
    finish_reason=FinishReason.stop,
    usage=Usage(input_tokens=9, output_tokens=2),
    attempts=1,
)
FAILED = Error(code=Code.canceled, reason=Reason.canceled, message="stop", run_id="r", retry_after=UNSET, partial=True)
MAX = 64 * 1024


def test_each_event_names_its_run_after_its_type() -> None:
    encoder = Encoder('a"\u2028')
    run = '"id":"a\\"\u2028"'.encode()
    assert encoder.event(STARTED) == (
        b'{"type":"started",' + run + b',"run_id":"r","function":"say","variant":null,"model":"openai:m",'
        b'"max_tokens":null,"timeout":300.0}'
    )
    assert encoder.event(FINISHED) == (
        b'{"type":"finished",' + run + b',"run_id":"r","output":{"a":1.10},"finish_reason":"stop",'
        b'"usage":{"input_tokens":9,"output_tokens":2},"attempts":1}'
    )
    assert encoder.event(FAILED) == (
        b'{"type":"error",' + run + b',"code":"canceled","reason":"canceled","message":"stop","run_id":"r",'
        b'"partial":true}'
    )
    assert encoder.pieces(Text, [b"a", b"\\n"]) == b'{"type":"text",' + run + b',"text":"a\\n"}'
    assert encoder.pieces(Reasoning, [b"a"]) == b'{"type":"reasoning",' + run + b',"text":"a"}'


def test_an_event_of_no_run_has_no_id() -> None:
    assert Encoder(None).event(FAILED).startswith(b'{"type":"error","code":"canceled"')


async def test_pieces_that_wait_together_leave_as_one_event_a_kind_in_order() -> None:
    buffer = Outbox().buffer("1", Encoder("1"))
    for event in (STARTED, Text("a\n"), Text("🙂"), Reasoning("b"), Reasoning('"'), Text("c"), FINISHED):
        buffer.add(event)
    started, *pieces, finished = buffer.take()
    assert pieces == [
        '{"type":"text","id":"1","text":"a\\n🙂"}'.encode(),
        b'{"type":"reasoning","id":"1","text":"b\\""}',
        b'{"type":"text","id":"1","text":"c"}',
    ]
    assert started.startswith(b'{"type":"started"')
    assert finished.startswith(b'{"type":"finished"')
    assert buffer.over


async def test_a_piece_that_is_taken_is_not_merged_with_a_later_one() -> None:
    buffer = Outbox().buffer("1", Encoder("1"))
    taken: list[bytes] = []
    for word in ("a", "b"):
        buffer.add(Text(word))
        taken += buffer.take()
    assert taken == [b'{"type":"text","id":"1","text":"a"}', b'{"type":"text","id":"1","text":"b"}']


async def test_merged_pieces_are_no_larger_than_one_may_be() -> None:
    buffer = Outbox().buffer("1", Encoder("1"))
    for size in (MAX - 1, 1, 1, MAX):
        buffer.add(Text("x" * size))
    assert [message.count(b"x") - 2 for message in buffer.take()] == [MAX, 1, MAX]


async def test_buffers_are_emptied_in_turns() -> None:
    outbox = Outbox()
    flood, quiet = outbox.buffer("flood", Encoder("flood")), outbox.buffer("quiet", Encoder("quiet"))
    turns: list[str | None] = []
    flood.add(Text("x" * MAX))
    quiet.add(Text("a"))
    for _ in range(4):
        buffer = await outbox.next()
        assert buffer is not None
        turns.append(buffer.run)
        buffer.take()
        flood.add(Text("x"))
        quiet.add(Text("a"))
    assert turns == ["flood", "quiet", "flood", "quiet"]


async def test_a_full_buffer_lets_its_run_wait_until_it_was_emptied() -> None:
    outbox = Outbox()
    buffer = outbox.buffer("1", Encoder("1"))
    buffer.add(Text("x" * (MAX - 1)))
    assert not buffer.full
    buffer.add(Text("x"))
    assert buffer.full
    waiting = asyncio.create_task(buffer.room())
    await asyncio.sleep(0)
    buffer.take()
    assert not waiting.done()
    buffer.wake()
    await waiting
    assert not buffer.full


async def test_nobody_waits_for_an_outbox_that_is_closed_nor_for_longer_than_it_may() -> None:
    outbox = Outbox()
    first, second = outbox.buffer("1", Encoder("1")), outbox.buffer("2", Encoder("2"))
    time = asyncio.get_running_loop().time
    await first.room(time())
    waiting = [asyncio.create_task(buffer.room()) for buffer in (first, second)]
    await asyncio.sleep(0)
    outbox.close()
    await asyncio.gather(*waiting)
    first.add(Text("x" * MAX))
    assert not first.full


async def test_whoever_asks_for_the_next_buffer_can_be_told_to_look_up() -> None:
    outbox = Outbox()
    waiting = asyncio.create_task(outbox.next())
    await asyncio.sleep(0)
    outbox.wake()
    assert await waiting is None
    assert outbox.empty
