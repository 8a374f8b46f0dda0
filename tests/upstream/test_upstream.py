"""The scripted upstream does at byte level what its scripts say, and tells the truth about what it saw."""

import asyncio
import json
import socket
from collections.abc import Callable, Coroutine

import pytest

from tests.upstream import (
    FRAMINGS,
    ChatStream,
    Gate,
    Request,
    Step,
    answer,
    body,
    bytewise,
    close,
    comment,
    completion,
    cut,
    done,
    end,
    error_reply,
    finish,
    head,
    never_accepting_port,
    raw,
    refused_port,
    repeat,
    reply,
    reset,
    silence,
    text,
    together,
)
from tests.upstream.stage import Stage

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def payload_of(step: Step) -> bytes:
    return getattr(step, "data")  # noqa: B009 (the attribute is of some steps only)


async def test_a_script_is_sent_step_by_step_in_chunks_and_ends_the_body() -> None:
    async with Stage() as upstream:
        upstream.script(head(), body(b"one"), body(b"two"))
        caller = await upstream.call()
        await caller.until(b"0\r\n\r\n")
        assert caller.reads[0].startswith(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n")
        assert caller.reads[1:] == [b"3\r\none\r\n", b"3\r\ntwo\r\n", b"0\r\n\r\n"]
        await upstream.all_played()


async def test_a_request_is_recorded_whole() -> None:
    async with Stage() as upstream:
        upstream.always(completion("hi"))
        caller = await upstream.connect()
        caller.call({"model": "m"})
        exchange = await upstream.requested()
        request = exchange.request
        assert (request.method, request.path, request.connection) == ("POST", "/v1/chat/completions", 1)
        assert request.headers == {"host": "here", "x-a": "1, 2", "content-length": "14"}
        assert request.body == b'{"model": "m"}'
        assert request.json == {"model": "m"}


async def test_bytewise_sends_each_byte_alone() -> None:
    async with Stage() as upstream:
        upstream.script(head(), bytewise(body("é🙂".encode())), body(b"rest"))
        caller = await upstream.call()
        await caller.until(b"0\r\n\r\n")
        framed = b"6\r\n" + "é🙂".encode() + b"\r\n"
        assert caller.reads[1:] == [*(bytes([byte]) for byte in framed), b"4\r\nrest\r\n", b"0\r\n\r\n"]


async def test_cut_sends_the_pieces_alone_and_together_sends_one_piece() -> None:
    async with Stage() as upstream:
        upstream.script(head(length=9), cut(body(b"abcdef"), 1, -2), together(body(b"g"), body(b"h"), body(b"i")))
        caller = await upstream.call()
        await caller.until(b"ghi")
        assert caller.reads[1:] == [b"a", b"bcd", b"ef", b"ghi"]


async def test_a_gate_holds_the_script_until_the_test_opens_it() -> None:
    gate = Gate()
    async with Stage() as upstream:
        upstream.script(head(), body(b"before"), gate.wait(), body(b"after"))
        caller = await upstream.call()
        await gate.reached()
        assert b"before" in await caller.until(b"before")
        assert b"after" not in b"".join(caller.reads)
        gate.open()
        assert b"after" in await caller.until(b"after")


async def test_a_gate_that_nobody_reaches_says_so() -> None:
    with pytest.raises(AssertionError, match=r"0 of 2 scripts reached the gate within 0\.01 s"):
        await Gate().reached(2, within=0.01)


async def test_close_ends_without_the_last_chunk() -> None:
    async with Stage() as upstream:
        upstream.script(head(), body(b"a"), raw(b"ff\r\nhalf a chunk"), close())
        caller = await upstream.call()
        assert (await caller.until_closed()).endswith(b"1\r\na\r\nff\r\nhalf a chunk")
        assert caller.error is None


async def test_reset_is_seen_as_a_reset() -> None:
    async with Stage() as upstream:
        upstream.script(head(), body(b"a"), reset())
        caller = await upstream.call()
        await caller.until_closed()
        assert isinstance(caller.error, ConnectionResetError)


async def test_a_body_until_close_is_ended_by_the_close() -> None:
    async with Stage() as upstream:
        upstream.script(head(until_close=True), body(b"all of it"))
        caller = await upstream.call()
        assert (await caller.until_closed()).endswith(b"connection: close\r\n\r\nall of it")


async def test_raw_bytes_may_be_anything() -> None:
    async with Stage() as upstream:
        upstream.script(raw(b"SMTP ready\r\n"), close())
        assert await (await upstream.call()).until_closed() == b"SMTP ready\r\n"


async def test_bytes_after_the_end_of_the_body_can_be_sent() -> None:
    async with Stage() as upstream:
        upstream.script(head(), done(), end(), raw(b"more"), close())
        assert (await (await upstream.call()).until_closed()).endswith(b"0\r\n\r\nmore")


async def test_a_connection_serves_one_request_after_another() -> None:
    async with Stage() as upstream:
        upstream.script(completion("first"))
        upstream.script(completion("second"))
        caller = await upstream.call()
        await caller.until(b"first")
        caller.call()
        await caller.until(b"second")
        assert (upstream.accepted, upstream.open, upstream.most_open) == (1, 1, 1)
        assert [request.connection for request in upstream.requests] == [1, 1]


@pytest.mark.parametrize(
    "steps",
    [(silence(),), (head(), silence()), (head(), body(b"a"), silence()), (head(), repeat(body(b"x" * 65536)))],
    ids=["before the head", "before the body", "in a silence", "in a flood"],
)
async def test_it_notices_that_the_client_left(steps: tuple[Step, ...]) -> None:
    async with Stage() as upstream:
        upstream.script(*steps)
        caller = await upstream.call()
        exchange = await upstream.requested()
        before = asyncio.get_running_loop().time()
        await caller.leave()
        assert 0 <= await exchange.client_left() - before < 1
        await upstream.all_left()
        assert upstream.open == 0
        assert not exchange.played


async def test_a_client_that_stays_is_an_assertion_error() -> None:
    async with Stage() as upstream:
        upstream.script(head(), silence())
        await upstream.call()
        exchange = await upstream.requested()
        with pytest.raises(AssertionError, match=r"the client still holds its connection after 0\.02 s: POST /v1/chat"):
            await exchange.client_left(within=0.02)
        with pytest.raises(AssertionError, match="1 connections are still open"):
            await upstream.all_left(within=0.02)
        with pytest.raises(AssertionError, match=r"0\.02 s passed before the script came to its end: POST"):
            await upstream.all_played(within=0.02)
        upstream.script(completion("never asked for"))
        exchange.note_played()
        with pytest.raises(AssertionError, match="1 scripts were never asked for"):
            await upstream.all_played()


async def test_a_close_of_ours_is_not_taken_for_a_client_that_left() -> None:
    async with Stage() as upstream:
        upstream.script(head(), close())
        await (await upstream.call()).until_closed()
        exchange = await upstream.requested()
        with pytest.raises(AssertionError, match="the upstream closed first"):
            await exchange.client_left()


async def test_no_request_is_an_assertion_error() -> None:
    async with Stage() as upstream:
        with pytest.raises(AssertionError, match=r"no further request within 0\.01 s; so far 0"):
            await upstream.requested(within=0.01)


async def test_a_slow_reader_stops_the_script() -> None:
    async with Stage() as upstream:
        upstream.script(head(), repeat(body(b"x" * 65536), 3200))  # 200 MiB without a line end
        caller = await upstream.call()
        await caller.until(b"xxx")
        caller.pause_reading()
        exchange = await upstream.requested()
        still = -1
        while still != exchange.sent:
            still = exchange.sent
            for _ in range(50):
                await asyncio.sleep(0)
        assert exchange.sent < 20 * 2**20
        assert not exchange.played


async def test_a_used_connection_can_be_dropped_just_as_it_is_reused() -> None:
    async with Stage() as upstream:
        upstream.always(completion("hi"))
        caller = await upstream.call()
        await caller.until(b"hi")
        upstream.drop_next_reuse()
        caller.call()
        await caller.until_closed()
        assert isinstance(caller.error, ConnectionResetError)
        assert (len(upstream.requests), upstream.dropped) == (1, 1)


async def test_idle_connections_can_be_closed() -> None:
    async with Stage() as upstream:
        upstream.script(completion("hi"))
        upstream.script(head(), silence())
        idle = await upstream.call()
        await idle.until(b"hi")
        await upstream.call()
        await upstream.requested()
        await upstream.requested()
        await upstream.close_idle()
        await idle.until_closed()
        assert upstream.open == 1


async def test_the_answer_can_be_made_from_the_request() -> None:
    def echo(request: Request) -> list[Step]:
        return [reply(200, request.body)]

    async with Stage() as upstream:
        upstream.answer_with(echo)
        caller = await upstream.connect()
        caller.call({"say": "this"})
        assert (await caller.until(b"}")).endswith(b'{"say": "this"}')


async def test_a_request_without_a_script_is_answered_500_and_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="no script was left for POST /v1/chat/completions"):
        async with Stage() as upstream:
            await (await upstream.call()).until(b"500 Internal Server Error")


async def test_leaving_ends_scripts_and_connections() -> None:
    gate = Gate()
    tasks = asyncio.all_tasks()
    async with Stage() as upstream:
        upstream.script(head(), gate.wait())
        caller = await upstream.call()
        await gate.reached()
    await caller.until_closed()
    assert asyncio.all_tasks() == tasks
    assert upstream.open == 0


async def test_whole_replies_state_their_length() -> None:
    async with Stage() as upstream:
        upstream.script(error_reply(429, "slow down", code="rate_limit", headers={"retry-after": "2"}))
        received = await (await upstream.call()).until(b"}}")
        top, _, content = received.partition(b"\r\n\r\n")
        assert top.split(b"\r\n") == [
            b"HTTP/1.1 429 Too Many Requests",
            b"content-type: application/json",
            b"retry-after: 2",
            b"content-length: %d" % len(content),
        ]
        assert json.loads(content)["error"] == {
            "message": "slow down",
            "type": "invalid_request_error",
            "code": "rate_limit",
        }


def read_events(stream: bytes) -> list[str]:
    """What a conforming reader makes of whole lines of any kind (the data of each event)."""
    lines = stream.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    events: list[str] = []
    data: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            events.append("\n".join(data))
            data = []
    return events


@pytest.mark.parametrize("name", FRAMINGS)
def test_every_framing_says_the_same(name: str) -> None:
    said = "a\n\r\u2028 data: é🙂"
    stream = FRAMINGS[name]
    steps = [stream.comment("still here"), stream.text(said), stream.finish("stop"), stream.usage(9, 2), stream.done()]
    first, last, counts, mark = read_events(b"".join(map(payload_of, steps)))
    assert json.loads(first)["choices"][0]["delta"] == {"content": said}
    assert json.loads(last)["choices"] == [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    assert json.loads(counts)["usage"] == {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    assert mark == "[DONE]"


def test_the_default_framing_byte_for_byte() -> None:
    assert payload_of(comment()) == b":\n\n"
    assert payload_of(done()) == b"data: [DONE]\n\n"
    assert payload_of(finish("length")) == (
        b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"scripted",'
        b'"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}\n\n'
    )


def test_text_beyond_ascii_is_utf8_or_escaped_and_a_lone_surrogate_is_always_escaped() -> None:
    assert '"content":"🙂"'.encode() in payload_of(text("🙂"))
    assert rb'"content":"\ud83d\ude42"' in payload_of(ChatStream(escaped=True).text("🙂"))
    assert rb'"content":"\ud83d"' in payload_of(text("\ud83d"))


async def test_an_answer_is_a_whole_stream() -> None:
    async with Stage() as upstream:
        upstream.script(answer("Hel", "lo"))
        received = await (await upstream.call()).until(b"0\r\n\r\n")
        assert received.count(b"data: ") == 6
        assert received.index(b'"Hel"') < received.index(b'"lo"') < received.index(b'"stop"')


def test_a_refused_port_refuses() -> None:
    with refused_port() as port, pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1)


def test_a_port_that_never_accepts_lets_the_caller_wait() -> None:
    with never_accepting_port() as port, pytest.raises(TimeoutError):
        socket.create_connection(("127.0.0.1", port), timeout=0.2)


def test_it_does_the_same_under_uvloop() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def scene() -> None:
        async with Stage() as upstream:
            upstream.script(head(), bytewise(body(b"abc")), reset())
            caller = await upstream.call()
            await caller.until_closed()
            assert isinstance(caller.error, ConnectionResetError)
            upstream.script(head(), body(b"a"), silence())
            caller = await upstream.call()
            await caller.until(b"a\r\n")
            await caller.leave()
            await upstream.requested()
            await (await upstream.requested()).client_left()

    run: Callable[[Coroutine[None, None, None]], None] = uvloop.run
    run(scene())
