"""Bytes of a provider's stream that weaker readers trip over."""

import json
import re
from pathlib import Path

import pytest

from deltawire.domain.errors import Reason
from tests.field.outcomes import SAY, SOME, assert_failed, everywhere, on_all_at_once, told
from tests.matrix.answers import answer, events
from tests.matrix.notation import Script, Stop
from tests.matrix.stage import Matrix
from tests.matrix.transports import EVENTFUL, TRANSPORTS, WHOLE
from tests.upstream import (
    FRAMINGS,
    ChatStream,
    Step,
    body,
    bytewise,
    close,
    comment,
    cut,
    delay,
    done,
    finish,
    head,
    repeat,
    silence,
    text,
    together,
    usage,
)

pytestmark = pytest.mark.anyio

every_transport = pytest.mark.parametrize("transport", TRANSPORTS)
END = (finish("stop"), usage(9, 2), done())
CHARACTERS = 'data: {"choices":[{"index":0,"delta":{"content":"é🙂好"}}]}\n\n'.encode()


@every_transport
async def test_uf_01_characters_that_come_byte_by_byte_arrive_whole(matrix: Matrix, transport: str) -> None:
    reply, _ = await told(matrix, transport, head(), bytewise(body(CHARACTERS), *END))
    assert answer(transport, reply) == "é🙂好"


@everywhere("said_before", ["a"], [""])
async def test_uf_01_a_character_that_the_end_cuts_is_a_truncated_answer(
    matrix: Matrix, transport: str, said_before: str
) -> None:
    half = CHARACTERS[: CHARACTERS.index("好".encode()) + 2]
    before = [text(said_before)] if said_before else []
    reply, line = await told(matrix, transport, head(until_close=True), *before, bytewise(body(half)), close())
    assert_failed(transport, reply, Reason.upstream_truncated, partial=bool(said_before))
    assert line["outcome"] == Reason.upstream_truncated
    assert "�" not in reply.content


SEPARATED = "a\u2028b\u2029c\x85d\x0be\x0cf✅"


@everywhere("cuts", ["whole"], ["bytewise"])
async def test_uf_02_only_cr_and_lf_end_a_line(matrix: Matrix, transport: str, cuts: str) -> None:
    content = json.dumps(SEPARATED, ensure_ascii=False).replace("\\u000b", "\\u000B")  # JSON has no raw VT and FF
    said = body(f'data: {{"choices":[{{"index":0,"delta":{{"content":{content}}}}}]}}\n\n'.encode())
    steps = (bytewise(said) if cuts == "bytewise" else said, *END)
    reply, _ = await told(matrix, transport, head(content_type="text/event-stream"), *steps)
    assert answer(transport, reply) == SEPARATED
    if transport in EVENTFUL:
        assert len([one for one in events(transport, reply) if one["type"] == "text"]) == 1


@pytest.mark.parametrize("transport", ["sse", "ndjson", "chat_stream"])
async def test_uf_02_our_own_lines_hold_no_character_that_others_take_for_an_end(
    matrix: Matrix, transport: str
) -> None:
    reply, _ = await told(matrix, transport, head(), text(SEPARATED), *END)
    for separator in ("\u2028", "\u2029", "\x85", "\x0b", "\x0c"):
        assert separator.encode() not in reply.body
    assert answer(transport, reply) == SEPARATED


def three_events(framing: ChatStream) -> tuple[Step, ...]:
    return framing.text("Hel"), framing.text("lo"), framing.finish("stop"), framing.usage(9, 2), framing.done()


def torn_line_ends(*steps: Step) -> tuple[Step, ...]:
    """Each CR comes in one read, and its LF in the next."""
    return tuple(cut(step, -3, -1) for step in steps)


FORMS: dict[str, tuple[Step, ...]] = {
    **{name: three_events(FRAMINGS[name]) for name in ("lf", "crlf", "cr", "no-space", "two-lines")},
    "torn-crlf": torn_line_ends(*three_events(FRAMINGS["crlf"])),
}


@everywhere("form", FORMS)
async def test_uf_03_every_form_brings_the_same_answer(matrix: Matrix, transport: str, form: str) -> None:
    ways = [(bytewise(*FORMS[form]),)] if form != "torn-crlf" else []
    for steps in [*ways, FORMS[form]] if transport in SOME or form == "torn-crlf" else ways:
        reply, line = await told(matrix, transport, head(), *steps)
        assert answer(transport, reply) == "Hello"
        assert (line["outcome"], line["input_tokens"], line["output_tokens"]) == ("stop", 9, 2)


@pytest.mark.parametrize("transport", [one for one in TRANSPORTS if one not in WHOLE])
@pytest.mark.parametrize("form", ["cr", "crlf"])
async def test_uf_03_an_event_is_out_before_the_next_one_comes(matrix: Matrix, transport: str, form: str) -> None:
    framing, stop = FRAMINGS[form], Stop("pause", "Hel")
    matrix.provider.script(head(), framing.text("Hel"), stop.gate.wait(), framing.finish(), framing.done())
    reply = await matrix.caller(transport).call(SAY, Script(stops=[stop]))
    assert answer(transport, reply) == "Hel"


KEEP_ALIVES = (b": still working\n\n", b":\n\n", b"retry: 1500\n\n", b"id: 7\n\n", b"data:\n\n")
PING = body(b'data: {"type":"ping"}\n\n')


@everywhere("cuts", ["each"], ["bytewise"])
async def test_uf_04_keep_alives_of_every_kind_reach_nobody(matrix: Matrix, transport: str, cuts: str) -> None:
    steps = (*map(body, KEEP_ALIVES), PING, text("a"), comment(" ping"), text("b"), *END)
    reply, line = await told(matrix, transport, head(), *([bytewise(*steps)] if cuts == "bytewise" else steps))
    assert answer(transport, reply) == "ab"
    assert line["outcome"] == "stop"
    assert not re.search("still working|ping|1500", reply.written())


BEATS = {
    "comment": comment(" ping"),
    "empty data": body(b"data:\n\n"),
    "id": body(b"id: 7\n\n"),
    "object": PING,
}


@pytest.mark.parametrize("kind", BEATS)
async def test_uf_04_keep_alives_reset_the_limit_of_silence(matrix: Matrix, kind: str) -> None:
    beats = repeat(together(delay(0.1), BEATS[kind]), 20)  # twice the limit
    replies = await on_all_at_once(matrix, lambda _: [head(), text("a"), beats, text("b"), *END], "pausing")
    assert {transport: answer(transport, reply) for transport, reply in replies.items()} == dict.fromkeys(
        TRANSPORTS, "ab"
    )


@pytest.mark.parametrize("kind", BEATS)
async def test_uf_04_keep_alives_do_not_reset_the_limit_of_the_first_token(matrix: Matrix, kind: str) -> None:
    beats = repeat(together(delay(0.1), BEATS[kind]))
    replies = await on_all_at_once(matrix, lambda _: [head(), beats], "hasty")
    for transport, reply in replies.items():
        assert_failed(transport, reply, Reason.first_token_timeout, partial=False)


@every_transport
async def test_uf_05_one_leading_byte_order_mark_goes_and_a_later_one_stays(matrix: Matrix, transport: str) -> None:
    marked = (body(b"\xef\xbb"), body(b"\xbf"), text("first"), text("a\ufeffb"), *END)
    reply, _ = await told(matrix, transport, head(), *marked)
    assert answer(transport, reply) == "firsta\ufeffb"


@pytest.mark.parametrize("transport", SOME)
async def test_uf_05_a_second_mark_is_no_byte_order_mark(matrix: Matrix, transport: str) -> None:
    """It makes the first line one of an unknown field, which the standard drops."""
    marked = (body(b"\xef\xbb\xbf\xef\xbb\xbf: hello\n\n"), text("\ufefffirst"), *END)
    reply, _ = await told(matrix, transport, head(), *marked)
    assert answer(transport, reply) == "\ufefffirst"


@every_transport
async def test_uf_06_an_event_of_a_megabyte_and_a_half_arrives_whole(matrix: Matrix, transport: str) -> None:
    long = "0123456789abcdef" * (96 * 1024)
    reply, _ = await told(matrix, transport, head(), text(long), *END)
    assert answer(transport, reply) == long


@every_transport
async def test_uf_06_a_line_without_end_is_given_up_in_bounded_memory(matrix: Matrix, transport: str) -> None:
    line = (body(b"data: "), repeat(body(b"x" * 1_000_000), 200))
    before = peak(matrix.server.pid)
    reply, logged = await told(matrix, transport, head(), text("a"), *line, silence())
    assert_failed(transport, reply, Reason.upstream_invalid, partial=True)
    assert "an event of more than 8388608 bytes" in logged["message"]
    exchange = await matrix.provider.requested()
    await exchange.client_left()
    assert exchange.sent < 32 * 1024 * 1024
    assert peak(matrix.server.pid) - before < 64 * 1024 * 1024


def peak(pid: int) -> int:
    """The most memory that a process has ever had, in bytes."""
    return int(re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[0]) * 1024
