"""Any events in every encoding of a stream, read by readers that are not ours, however the bytes are cut."""

import asyncio
import json
from collections.abc import Iterable, Iterator
from itertools import cycle, groupby
from typing import Any

import httpx
import pytest
from google.protobuf import json_format
from httpx_sse import EventSource
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import Raw
from starlette.types import Message

from deltawire.domain.events import Event, Finished, FinishReason, Piece, Reasoning, Refusal, Text, Usage
from deltawire.transports.http.chat_reply import Chunks
from deltawire.transports.http.event_stream import NDJSON, SSE, TEXT, Media
from deltawire.transports.http.rpc import connect, grpc_web
from deltawire.transports.http.rpc.wire import StreamWire
from deltawire.transports.http.websocket_messages import Encoder
from deltawire.transports.http.websocket_outbox import Outbox
from deltawire.v1 import functions_pb2 as pb
from tests.transports import plain_sse
from tests.transports.rpc import decoded, frames

ODD = ("\0", "\r", "\n", "\r\n", "\u2028", "\u2029", "\x85", "\v\f", "\ufeff", "🙂", "data: x\n\n", "None", '"', "\\u")
TEXTS = st.lists(st.sampled_from(ODD) | st.text(min_size=1, max_size=4), min_size=1, max_size=4).map("".join)
PIECES = st.lists(st.builds(Text, TEXTS) | st.builds(Reasoning, TEXTS) | st.builds(Refusal, TEXTS), max_size=6)
LENGTHS = st.lists(st.integers(1, 50), min_size=1, max_size=4)
"""Of the parts in which bytes come, over and over."""
ALL_ODD = [kind(text) for text in ODD for kind in (Text, Reasoning)]
FINISHED = Finished(
    run_id="r",
    output=Raw('"\u2028\x85"'.encode()),
    finish_reason=FinishReason.stop,
    usage=Usage(1, 2),
    attempts=1,
)
Said = list[tuple[str, str]]


def said(pieces: Iterable[tuple[str, str]]) -> Said:
    """Adjacent pieces of one kind are one."""
    return [(kind, "".join(text for _, text in run)) for kind, run in groupby(pieces, lambda piece: piece[0])]


def spoken(pieces: list[Piece]) -> Said:
    return said(("reasoning" if isinstance(piece, Reasoning) else "text", piece.text) for piece in pieces)


def response(media: Media, events: list[Event], lengths: list[int]) -> httpx.Response:
    """The events with a heartbeat before each, as a caller's client has them."""
    beat = media.heartbeat or b""
    body = b"".join(beat + media.encode(event) for event in events)
    return httpx.Response(
        200, headers={"content-type": media.content_type.decode()}, content=parts_of(body, cycle(lengths))
    )


def parts_of(body: bytes, lengths: Iterator[int]) -> Iterator[bytes]:
    at = 0
    while at < len(body):
        length = next(lengths)
        yield body[at : at + length]
        at += length


def parsed(told: list[dict[str, Any]]) -> tuple[Said, dict[str, Any]]:
    """What was said, and the last event."""
    *pieces, last = told
    return said((piece["type"], piece["text"]) for piece in pieces), last


@settings(deadline=None)
@given(PIECES, LENGTHS)
@example(ALL_ODD, [1])
def test_server_sent_events(pieces: list[Piece], lengths: list[int]) -> None:
    reply = response(SSE, [*pieces, FINISHED], lengths)
    events = [{"type": event.event, **json.loads(event.data)} for event in EventSource(reply).iter_sse()]
    words, last = parsed(events)
    assert words == spoken(pieces)
    assert (last["type"], last["output"]) == ("finished", "\u2028\x85")


@settings(deadline=None)
@given(PIECES, LENGTHS)
@example(ALL_ODD, [1])
def test_lines_of_json_for_a_reader_who_takes_every_line_end_of_unicode(
    pieces: list[Piece], lengths: list[int]
) -> None:
    reply = response(NDJSON, [*pieces, FINISHED], lengths)
    words, last = parsed([json.loads(line) for line in reply.iter_lines() if line])
    assert words == spoken(pieces)
    assert (last["type"], last["output"]) == ("finished", "\u2028\x85")


@settings(deadline=None)
@given(PIECES, LENGTHS)
@example(ALL_ODD, [1])
def test_plain_text_is_the_answer_and_nothing_else(pieces: list[Piece], lengths: list[int]) -> None:
    reply = response(TEXT, [*pieces, FINISHED], lengths)
    assert "".join(reply.iter_text()) == "".join(piece.text for piece in pieces if isinstance(piece, Text))


@settings(deadline=None)
@given(PIECES)
@example(ALL_ODD)
def test_openais_chunks(pieces: list[Piece]) -> None:
    chunks = Chunks("r", "say", 0, typed=False, usage=True)
    stream = b"".join(map(chunks.encode, [*pieces, FINISHED])).decode()
    *told, end = [event.data for event in plain_sse.events(stream)]
    assert end == "[DONE]"
    deltas = [choice["delta"] for event in told for choice in json.loads(event)["choices"]]
    words = [
        ("reasoning" if name == "reasoning_content" else "text", text)
        for delta in deltas
        for name, text in delta.items()
        if name != "role" and text
    ]
    assert said(words) == spoken(pieces)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=3))
@example([ALL_ODD, ALL_ODD])
def test_messages_of_a_websocket_whenever_the_socket_takes_them(batches: list[list[Piece]]) -> None:
    async def sent() -> list[bytes]:
        buffer = Outbox().buffer("1", Encoder("1"))
        messages: list[bytes] = []
        for batch in batches:
            for piece in batch:
                buffer.add(piece)
            messages += buffer.take()
        buffer.add(FINISHED)
        return messages + buffer.take()

    told = [json.loads(message) for message in asyncio.run(sent())]
    assert all(message["id"] == "1" for message in told)
    words, last = parsed(told)
    assert words == spoken([piece for batch in batches for piece in batch])
    assert (last["type"], last["output"]) == ("finished", "\u2028\x85")


WIRES = [*connect.STREAM, *grpc_web.WIRES]


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.content_type)
@settings(deadline=None)
@given(PIECES)
@example(ALL_ODD)
def test_messages_in_envelopes_for_protobufs_own_reader(wire: StreamWire, pieces: list[Piece]) -> None:
    media = wire.media(wire.encoding.event)
    body = asyncio.run(sent_by(wire, [media.encode(event) + (media.heartbeat or b"") for event in pieces]))
    body += asyncio.run(sent_by(wire, [media.encode(FINISHED)]))
    *messages, finished, end = frames(decoded(body) if "text" in wire.content_type else body)
    assert {flags for flags, _ in [*messages, finished]} == {0}
    assert end[0] in (2, 0x80)
    read = [_event(wire, message) for _, message in messages]
    assert said((kind, getattr(event, kind)) for event in read if (kind := event.WhichOneof("event"))) == spoken(pieces)
    assert json.loads(_event(wire, finished[1]).finished.output_json) == "\u2028\x85"


def _event(wire: StreamWire, message: bytes) -> pb.Event:
    if "json" in wire.content_type:
        return json_format.Parse(message, pb.Event())
    return pb.Event.FromString(message)


async def sent_by(wire: StreamWire, parts: list[bytes]) -> bytes:
    """What goes over the socket."""
    sent: list[bytes] = []

    async def send(message: Message) -> None:
        sent.append(message["body"])

    sending = wire.sending(send)
    for part in parts:
        await sending({"type": "http.response.body", "body": part, "more_body": True})
    return b"".join(sent)
