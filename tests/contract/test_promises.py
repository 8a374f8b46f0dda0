"""What all transports promise of an answer, whatever it holds and however it comes: one test over all of them each."""

import asyncio
from typing import Any

import grpc
import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.matrix.answers import answer, events
from tests.matrix.notation import Call
from tests.matrix.reply import Reply
from tests.matrix.rpc import SERVICE
from tests.matrix.stage import Matrix
from tests.matrix.transports import EVENTFUL, RPC, TRANSPORTS, UNARY
from tests.upstream import (
    FRAMINGS,
    ChatStream,
    Step,
    body,
    bytewise,
    close,
    cut,
    done,
    event,
    finish,
    head,
    html_reply,
    reasoning,
    repeat,
    silence,
    text,
    together,
    usage,
)

pytestmark = pytest.mark.anyio

AWKWARD = "line1\nline2\r\n\u2028 data: x None 🙂"
SAY = Call("say")
END = (finish("stop"), usage(9, 2), done())

every_transport = pytest.mark.parametrize("transport", TRANSPORTS)
with_events = pytest.mark.parametrize("transport", EVENTFUL)


async def say(matrix: Matrix, transport: str, *steps: Step) -> Reply:
    matrix.provider.script(*steps)
    return await matrix.caller(transport).call(SAY)


@every_transport
async def test_an_awkward_text_that_comes_byte_by_byte_arrives_exactly(matrix: Matrix, transport: str) -> None:
    for framing in FRAMINGS.values():
        reply = await say(matrix, transport, head(), bytewise(framing.text(AWKWARD), framing.finish(), framing.done()))
        assert answer(transport, reply) == AWKWARD


@every_transport
async def test_pieces_that_would_break_a_naive_frame_arrive_exactly(matrix: Matrix, transport: str) -> None:
    pieces = ["line1\n", "\n  two", " three", "\r\n", "data: x\n\nevent: evil", "\r", "\ufeff", "\x00", "\x85", "</s>"]
    reply = await say(matrix, transport, head(), *map(text, pieces), *END)
    assert answer(transport, reply) == "".join(pieces)


@st.composite
def streams(draw: st.DrawFn) -> tuple[str, list[Step]]:
    """A text, and a stream that says it: chunks cut between any two UTF-16 units, events cut between any two bytes."""
    characters = st.one_of(
        st.characters(exclude_categories=["Cs"]), st.sampled_from('🙂é\n\r\x00\x85\u2028\ufeff"\\ :')
    )
    said = draw(st.text(characters, min_size=1, max_size=40))
    framing = draw(st.sampled_from(list(FRAMINGS.values())))
    units = said.encode("utf-16-le")
    cuts = sorted({2 * place for place in draw(st.lists(st.integers(1, len(units) // 2), max_size=6))})
    pieces = [units[start:stop] for start, stop in zip([0, *cuts], [*cuts, None], strict=True)]
    steps = [framing.text(piece.decode("utf-16-le", "surrogatepass")) for piece in pieces if piece]
    offsets = draw(st.lists(st.integers(1, 60), max_size=3))
    played = [*(cut(step, *offsets) for step in steps), framing.finish(), framing.done()]
    return said, [head(), together(*played)] if draw(st.booleans()) else [head(), *played]


@every_transport
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stream=streams())
async def test_any_text_in_any_cut_arrives_exactly(
    matrix: Matrix, transport: str, stream: tuple[str, list[Step]]
) -> None:
    said, steps = stream
    await matrix.provider.begin()  # the fixture is one for all examples
    assert answer(transport, await say(matrix, transport, *steps)) == said


@every_transport
async def test_halves_of_a_character_are_joined_over_chunks_and_a_lone_half_is_replaced(
    matrix: Matrix, transport: str
) -> None:
    lone = (text("a\ud83d"), text("\ude42b"), text("\ud83d"), text("c"), text("\ude42"), text("\ud83d"))
    assert answer(transport, await say(matrix, transport, head(), *lone, *END)) == "a🙂b�c��"


@with_events
async def test_events_come_in_order_with_one_terminal_event(matrix: Matrix, transport: str) -> None:
    steps = (text("a"), reasoning("b"), text("c"))
    reply = await say(matrix, transport, head(), together(*steps), *END)
    assert [one["type"] for one in events(transport, reply)] == ["started", "text", "reasoning", "text", "finished"]


@with_events
async def test_what_one_read_brings_is_merged_and_its_order_kept(matrix: Matrix, transport: str) -> None:
    read = together(text("a"), text("b"), reasoning("c"), reasoning("d"), text("e"), text("f"), *END)
    came = events(transport, await say(matrix, transport, head(), read))
    assert [(one["type"], one["text"]) for one in came[1:-1]] == [("text", "ab"), ("reasoning", "cd"), ("text", "ef")]


@with_events
@pytest.mark.parametrize("character", ["x", "é", "🙂"])
async def test_a_piece_of_more_than_64_kib_is_cut(matrix: Matrix, transport: str, character: str) -> None:
    said = character * (1_500_000 // len(character.encode()))
    came = events(transport, await say(matrix, transport, head(), text(said), *END))[1:-1]
    assert "".join(one["text"] for one in came) == said
    assert all(0 < len(one["text"].encode()) <= 64 * 1024 for one in came)


@every_transport
async def test_reasoning_is_never_part_of_the_answer(matrix: Matrix, transport: str) -> None:
    both = event({"choices": [{"index": 0, "delta": {"reasoning": "hm", "reasoning_content": "hm"}}]})
    steps = (reasoning("hm"), reasoning("hm", key="reasoning"), both, text("yes"), *END)
    reply = await say(matrix, transport, head(), *steps)
    assert answer(transport, reply) == "yes"
    if transport in EVENTFUL:
        thought = [one["text"] for one in events(transport, reply) if one["type"] == "reasoning"]
        assert "".join(thought) == "hmhmhm"


@pytest.mark.parametrize("transport", [*EVENTFUL, "json", *UNARY])
async def test_usage_is_the_last_that_the_provider_counted(matrix: Matrix, transport: str) -> None:
    steps = (usage(9, 1), text("a"), usage(9, 2), finish("stop"), usage(9, 3), done())
    reply = await say(matrix, transport, head(), *steps)
    assert events(transport, reply)[-1]["usage"] == {"input_tokens": 9, "output_tokens": 3}


@every_transport
async def test_a_character_that_is_cut_by_the_end_is_a_truncated_answer(matrix: Matrix, transport: str) -> None:
    half = body(b'data: {"choices":[{"index":0,"delta":{"content":"\xe5\xa5')
    await say(matrix, transport, head(), text("a"), half, close())
    (line,) = matrix.logged(transport)
    assert line["outcome"] == "upstream_truncated"


@every_transport
async def test_an_event_without_end_is_given_up_and_the_connection_closed(matrix: Matrix, transport: str) -> None:
    endless = (body(b"data: "), repeat(body(b"x" * 1_000_000)))
    await say(matrix, transport, head(), text("a"), *endless)
    (line,) = matrix.logged(transport)
    assert line["outcome"] == "upstream_invalid"
    await (await matrix.provider.requested()).client_left()


@every_transport
async def test_the_providers_key_reaches_no_reply_and_no_log(matrix: Matrix, transport: str) -> None:
    key = "the-provider-key"
    steps = (head(), text("a"), ChatStream().error_event(f"the key {key} is worn out"))
    reply = await say(matrix, transport, *steps)
    assert (await matrix.provider.requested()).request.headers["authorization"] == f"Bearer {key}"
    assert key not in reply.written()
    (line,) = matrix.logged(transport)
    assert line["message"].endswith(": the key … is worn out")


@pytest.mark.parametrize("transport", RPC)
@pytest.mark.parametrize(
    "window",
    [[silence()], [head(), silence()], [head(), text("Hel"), silence()]],
    ids=["no answer", "no content", "no end"],
)
async def test_the_callers_deadline_ends_the_call_and_its_request_to_the_provider(
    matrix: Matrix, transport: str, window: list[Step]
) -> None:
    matrix.provider.script(*window)
    reply = await matrix.caller(transport).call(Call("say", deadline=0.3))
    assert events(transport, reply)[-1]["code"] == "deadline_exceeded"
    await (await matrix.provider.requested()).client_left(within=1.0)
    (line,) = matrix.logged(transport)
    assert line["outcome"] == "total_timeout"


async def test_what_grpc_refuses_by_itself_is_no_run(matrix: Matrix) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{matrix.server.grpc_port}") as channel:
        untyped: Any = channel  # its stubs leave open what goes in and out
        for method, request, code in (
            ("Sream", b"", grpc.StatusCode.UNIMPLEMENTED),
            ("Stream", b"x" * 2_000_000, grpc.StatusCode.RESOURCE_EXHAUSTED),
        ):
            call = untyped.unary_unary(SERVICE + method).future(request)
            refused = await asyncio.to_thread(call.exception)
            assert refused.code() is code
            assert not refused.trailing_metadata()
    assert matrix.logged("grpc") == []


async def test_accept_may_be_written_on_several_lines(matrix: Matrix) -> None:
    matrix.provider.script(head(), text("a"), *END)
    lines = [("accept", "text/html"), ("accept", "text/event-stream")]
    async with httpx.AsyncClient() as client:
        reply = await client.post(
            f"{matrix.server.url}/v1/functions/say", json={"input": {"message": "hi"}}, headers=lines
        )
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"


@every_transport
async def test_the_providers_markup_reaches_no_reply(matrix: Matrix, transport: str) -> None:
    reply = await say(matrix, transport, html_reply(502, "secret internals"))
    assert "secret internals" not in reply.written()
