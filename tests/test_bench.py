"""The benchmark tells a server that loses or alters tokens from one that does not, and judges by its medians."""

import asyncio
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from bench.answers import Answers, checked
from bench.crowd import Crowd
from bench.drain import ended
from bench.open_streams import WIRES, held, promises_broken
from bench.pace import Pace
from bench.probe import Latency
from bench.process import ServerProcess
from bench.servers import BARE_GRPC, CONNECT, CONNECT_JSON, GRPC, GRPC_WEB, NDJSON, NGINX, SSE, WEBSOCKET, call_for
from bench.tokens import MARK, count_exact, token

from deltawire.v1 import functions_pb2 as pb


def test_each_token_holds_one_mark() -> None:
    assert all(token(number).encode().count(MARK) == 1 for number in range(100))


def test_only_the_beginning_of_what_was_sent_counts() -> None:
    sent = [token(number) for number in range(20)]
    assert count_exact("".join(sent)) == 20
    assert count_exact("") == 0
    assert count_exact("".join(sent[:7] + sent[8:])) is None
    assert count_exact("".join([*sent, " and more"])) is None
    assert count_exact("".join(sent).replace("ï", "i")) is None


def test_the_text_is_found_in_what_each_server_sends() -> None:
    ours = b'event: started\ndata: {}\n\nevent: text\ndata: {"text":"a\\n"}\n\n:\nevent: text\ndata: {"text":"b"}\n\n'
    theirs = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"choices":[]}\n\ndata: [DONE]\n\n'
    lines = b'{"type":"started"}\n{"type":"text","id":"1","text":"a\\n"}\n\n{"type":"text","id":"1","text":"b"}\n'
    assert SSE.call.pieces_of(ours) == ["a\n", "b"]
    assert NDJSON.call.pieces_of(lines) == ["a\n", "b"]
    assert WEBSOCKET.call.pieces_of(lines) == ["a\n", "b"]
    assert NGINX.call.pieces_of(theirs) == ["a"]


def test_a_websockets_frames_are_read_as_messages_and_their_lengths_are_no_tokens() -> None:
    head = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n"
    text = b'{"type":"text","id":"1","text":"%b"}' % (b"x" * 200 + MARK)
    long = b"\x81\x7e" + len(text).to_bytes(2) + text
    end = b'\x81\x13{"type":"finished"}'
    call = WEBSOCKET.call
    assert call.answer([head + long[:50], long[50:] + b"\x89\x04ping", end]) == (200, text + b'\n{"type":"finished"}')
    assert call.answer([head + long]) == (0, text)
    assert call.tokens(long) == 1
    assert call.reply(end + b"\x89\x04ping") == b"\x8a\x84\0\0\0\0ping"
    assert call.reply(end) == b""


def reply(*messages: tuple[int, bytes]) -> bytes:
    """A reply over HTTP/1.1 with each message in an envelope."""
    body = b"".join(bytes([flags]) + len(message).to_bytes(4) + message for flags, message in messages)
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


def texts(*pieces: str) -> list[tuple[int, bytes]]:
    return [(0, pb.Event(text=piece).SerializeToString()) for piece in pieces]


def test_an_answer_in_envelopes_is_whole_when_its_end_says_success() -> None:
    connect, web, in_json = CONNECT.call, GRPC_WEB.call, CONNECT_JSON.call
    status, body = connect.answer([reply((0, b""), *texts("a", "b"), (2, b"{}"))])
    assert (status, connect.pieces_of(body)) == (200, ["a", "b"])
    status, body = web.answer([reply(*texts("a", "b"), (0x80, b"grpc-status: 0\r\n"))])
    assert (status, web.pieces_of(body)) == (200, ["a", "b"])
    status, body = in_json.answer([reply((0, b"{}"), (0, b'{"text":"a"}'), (2, b"{}"))])
    assert (status, in_json.pieces_of(body)) == (200, ["a"])

    assert connect.answer([reply(*texts("a"))])[0] == 0
    assert connect.answer([reply(*texts("a"), (2, b'{"error":{}}'))])[0] == 0
    assert web.answer([reply(*texts("a"), (0x80, b"grpc-status: 14\r\n"))])[0] == 0


class Http2Server(asyncio.Protocol):
    """Answers the first stream with frames that are given, a byte at a time."""

    def __init__(self, frames: bytes) -> None:
        self._frames = frames
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if b"deltawire.v1.Functions" in data:
            for byte in self._frames:
                self._transport.write(bytes([byte]))
        self.received += data


def frame(kind: int, flags: int, payload: bytes, *, stream: int = 1) -> bytes:
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


async def grpc_fault(frames: bytes, sent: int) -> tuple[str | None, bytes]:
    """What is found wrong with one stream of such frames, and what its caller sent."""
    server = Http2Server(frames)
    listening = await asyncio.get_running_loop().create_server(lambda: server, "127.0.0.1", 0)
    async with listening:
        load = GRPC.call.load(listening.sockets[0].getsockname()[1])
        await load.open(1, over=0)
        await load.closed()
        load.leave()
    return checked(load.pieces(), [sent]).fault, server.received


@pytest.mark.anyio
async def test_a_grpc_stream_is_checked_to_its_end() -> None:
    def messages(*numbers: int) -> bytes:
        return b"".join(b"\0" + len(each).to_bytes(4) + each for _, each in texts(*map(token, numbers)))

    settings, ping = frame(4, 0, b"", stream=0), frame(6, 0, b"12345678", stream=0)
    head, data = frame(1, 4, b"\x88"), frame(0, 0, messages(0, 1)[:9]) + frame(0, 0, messages(0, 1)[9:])
    good, bad = frame(1, 5, b"\0\x0bgrpc-status\x010"), frame(1, 5, b"\0\x0bgrpc-status\x0214")

    fault, received = await grpc_fault(settings + ping + head + data + good, 2)
    assert fault is None
    assert received.endswith(frame(4, 1, b"", stream=0) + frame(6, 1, b"12345678", stream=0))
    assert (await grpc_fault(head + data + good, 3))[0] == "1 tokens lost"
    assert "without a good end" in ((await grpc_fault(head + data + bad, 2))[0] or "")
    assert "without a good end" in ((await grpc_fault(head + data + frame(3, 0, bytes(4)), 2))[0] or "")
    assert "not what" in ((await grpc_fault(head + frame(0, 0, messages(0, 2)) + good, 2))[0] or "")


@pytest.mark.anyio
async def test_the_bare_grpc_server_sends_what_it_is_told_to() -> None:
    pace = Pace(streams=3, rate=500, window=0.5)
    with tempfile.TemporaryDirectory() as folder:
        process = ServerProcess(BARE_GRPC, Path(folder) / "it", 0, min(os.sched_getaffinity(0)))
        try:
            await process.ready()
            load = call_for(BARE_GRPC, pace.tokens, pace.rate).load(process.port)
            await load.open(3, over=0)
            await load.begun()
            await load.closed()
            load.leave()
        finally:
            process.stop()
    assert checked(load.pieces(), [pace.tokens] * 3) == Answers()


def test_tokens_that_came_together_are_told() -> None:
    one_by_one = [token(number) for number in range(4)]
    assert checked([one_by_one], [4]) == Answers(together=0.0)
    assert checked([["".join(one_by_one[:2]), *one_by_one[2:]]], [4]) == Answers(together=0.25)


def test_a_promise_about_many_streams_is_kept_or_named() -> None:
    quick, late = Latency.of([0.001] * 99 + [0.2]), Latency.of([0.001] * 97 + [0.2] * 3)
    kept = Crowd(pace_kept=1.0, bytes_each=32 * 1024, latency=quick)
    assert promises_broken("sse", kept) == []
    assert promises_broken("websocket", replace(kept, bytes_each=50_000)) == []
    assert promises_broken("sse", replace(kept, bytes_each=33_000)) == ["sse: 32.2 KiB for each stream; at most 32"]
    assert promises_broken("sse", replace(kept, fault="3 tokens lost")) == ["sse: 3 tokens lost"]
    for broken in (replace(kept, pace_kept=0.9), replace(kept, latency=late), replace(kept, latency=None)):
        assert len(promises_broken("sse", broken)) == 1
    assert len(promises_broken("sse", replace(kept, latency=Latency.of([0.001] * 999 + [None])))) == 1
    assert promises_broken("sse", replace(kept, latency=late), timed=False) == []
    busy = replace(kept, disturbance=0.2)
    assert promises_broken("sse", replace(busy, pace_kept=0.9, latency=late)) == []
    assert len(promises_broken("sse", replace(busy, bytes_each=33_000))) == 1


@pytest.mark.anyio
async def test_streams_are_held_open_and_measured_and_the_server_told_to_stop() -> None:
    pace, core = Pace(streams=24, rate=10, window=1.0), min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        crowd = await held(SSE, Path(folder) / "held", pace, core)
        assert crowd.fault is None
        assert crowd.latency is not None
        assert (crowd.latency.answers, crowd.latency.failed) == (40, 0)
        assert await ended(WIRES, Path(folder) / "ended", pace, core) is None
