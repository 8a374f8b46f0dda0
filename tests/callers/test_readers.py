"""Readers of replies, fed with what our encoders write, however the network cuts it."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from deltawire.callers import readers
from deltawire.callers.answer import CallFailedError
from deltawire.callers.readers import Reader
from deltawire.domain.errors import Reason
from deltawire.domain.events import Error, Event, Finished, FinishReason, Reasoning, Started, Text, Usage
from deltawire.transports import protobuf
from deltawire.transports.http.event_stream import NDJSON, SSE, Media
from deltawire.transports.http.rpc.connect import STREAM
from deltawire.transports.http.rpc.grpc_web import WIRES

START = Started(run_id="r", function="chat", variant=None, model="openai:m", max_tokens=None, timeout=300.0)
PIECES: list[Event] = [Reasoning("hm"), Text('a\n\ndata: {"finish_reason":1}'), Text("🙂")]
END = Finished(run_id="r", output=None, finish_reason=FinishReason.stop, usage=Usage(9, 3), attempts=1)
FAILED = Error(
    code=Reason.idle_timeout.code, reason=Reason.idle_timeout, message="late: 100 %", run_id="r", partial=True
)


class Streamed(NamedTuple):
    media: Media
    reader: Callable[[], Reader]


STREAMED = {
    "sse": Streamed(SSE, readers.Sse),
    "ndjson": Streamed(NDJSON, readers.Ndjson),
    "connect": Streamed(STREAM[1].media(protobuf.event), readers.connect),
    "grpc-web": Streamed(WIRES[1].media(protobuf.event), readers.grpc_web),
}
every_stream = pytest.mark.parametrize("wire", STREAMED.values(), ids=STREAMED)


def written(wire: Streamed, *events: Event) -> bytes:
    """With a heartbeat before each."""
    heartbeat = wire.media.heartbeat
    assert heartbeat is not None
    return b"".join(heartbeat + wire.media.encode(event) for event in events)


def read_whole(reader: Reader, body: bytes) -> int:
    pieces = reader.feed(body)
    reader.end()
    return pieces


@every_stream
@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_each_piece_counts_once_wherever_reads_are_cut(wire: Streamed, step: int) -> None:
    stream, reader = written(wire, START, *PIECES, END), wire.reader()
    counts = [reader.feed(stream[at : at + step]) for at in range(0, len(stream), step)]
    reader.end()
    assert sum(counts) == len(PIECES)
    assert (reader.over, reader.tokens) == (True, 3)


@every_stream
def test_an_error_in_the_stream_keeps_its_reason_and_its_words(wire: Streamed) -> None:
    with pytest.raises(CallFailedError, match="late: 100 %") as failed:
        wire.reader().feed(written(wire, START, *PIECES, FAILED))
    assert failed.value.reason == "idle_timeout"


@every_stream
def test_a_stream_without_its_last_event_was_cut(wire: Streamed) -> None:
    reader = wire.reader()
    reader.feed(written(wire, START, *PIECES))
    with pytest.raises(CallFailedError) as failed:
        reader.end()
    assert failed.value.reason == "cut"


@every_stream
def test_an_answer_of_no_pieces_is_one(wire: Streamed) -> None:
    reader = wire.reader()
    assert reader.feed(written(wire, START, END)) == 0
    reader.end()


def test_a_stream_of_somebody_elses_events_is_none_of_ours() -> None:
    with pytest.raises(CallFailedError) as failed:
        readers.Sse().feed(b"data: hello\n\n")
    assert failed.value.reason == "not_deltawire"


@pytest.mark.parametrize("reader", [readers.Sse, readers.Ndjson, readers.Whole, readers.Bare, readers.connect])
def test_what_has_no_end_is_not_held_for_ever(reader: Callable[[], Reader]) -> None:
    endless, megabyte = reader(), b"\x20" * (1024 * 1024)
    with pytest.raises(CallFailedError, match="more than 64 MiB"):
        sum(endless.feed(megabyte) for _ in range(66))


@pytest.mark.parametrize(("reader", "frame"), [(readers.Sse, b"data: %b\n\n"), (readers.Bare, b"%b")])
def test_json_deeper_than_anybody_reads_is_none_of_ours(reader: Callable[[], Reader], frame: bytes) -> None:
    deep = frame % (b'{"x":' + b"[" * 20_000 + b"]" * 20_000 + b"}")
    with pytest.raises(CallFailedError) as failed:
        read_whole(reader(), deep)
    assert failed.value.reason == "not_deltawire"


def test_a_document_is_whole_at_its_end() -> None:
    reader = readers.Whole()
    assert reader.feed(b'{"type":"finished","finish_reason":"stop",') == 0
    assert reader.feed(b'"usage":{"input_tokens":9,"output_tokens":3}}') == 0
    reader.end()
    assert (reader.over, reader.tokens) == (True, 3)
