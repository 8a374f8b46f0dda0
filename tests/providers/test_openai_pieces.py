"""What one network read brings is merged by kind, cut at 64 KiB, and made of whole characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltawire.domain.events import Piece, Reasoning, Text
from deltawire.providers.openai.pieces import Merger
from tests.providers.asking import ask_once
from tests.upstream import FRAMINGS, Upstream, bytewise, done, finish, head, reasoning, text, together

pytestmark = pytest.mark.anyio

Kind = type[Text] | type[Reasoning]


def whole(text: str) -> str:
    """Halves of surrogate pairs joined; what stays alone replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


units = st.text(st.sampled_from("aé🙂\ud83d\ude42\udc00\ud800"), min_size=1, max_size=4)


@given(st.lists(st.lists(units, max_size=4), max_size=6))
def test_however_text_is_cut_it_comes_out_as_whole_characters(reads: list[list[str]]) -> None:
    merger, heard = Merger(), list[Piece]()
    for read in reads:
        for unit in read:
            merger.add(Text, unit)
        heard += merger.take()
    heard += merger.take(last=True)
    assert "".join(piece.text for piece in heard) == whole("".join("".join(read) for read in reads))
    assert all(piece.text for piece in heard)


@given(st.lists(st.tuples(st.sampled_from([Text, Reasoning]), units, st.booleans()), max_size=12))
def test_kinds_keep_their_order_and_no_character_is_joined_across_kinds(parts: list[tuple[Kind, str, bool]]) -> None:
    merger, heard = Merger(), list[Piece]()
    runs: list[tuple[Kind, str]] = []
    for kind, unit, ends_read in parts:
        merger.add(kind, unit)
        if runs and runs[-1][0] is kind:
            runs[-1] = (kind, runs[-1][1] + unit)
        else:
            runs.append((kind, unit))
        if ends_read:
            heard += merger.take()
    heard += merger.take(last=True)
    merged: list[tuple[Kind, str]] = []
    for piece in heard:
        if merged and merged[-1][0] is type(piece):
            merged[-1] = (type(piece), merged[-1][1] + piece.text)
        else:
            merged.append((type(piece), piece.text))
    assert merged == [(kind, whole(run)) for kind, run in runs]


@pytest.mark.parametrize("kind", [Text, Reasoning])
@pytest.mark.parametrize("unit", ["", "a", "🙂"])
def test_one_text_by_itself_is_the_same_as_adding_it_and_taking(kind: Kind, unit: str) -> None:
    long, short = Merger(), Merger()
    for merger in (long, short):
        merger.add(kind, "\ud83d")
        assert merger.take() == []
    if unit:
        long.add(Text, unit)
    assert (short.one(unit), short.take(last=True)) == (long.take(), long.take(last=True))


@pytest.mark.parametrize("unit", ["a", "é", "🙂", "a🙂"])
def test_a_long_text_is_cut_into_pieces_of_at_most_64_kib(unit: str) -> None:
    merger = Merger()
    long = unit * 70_000
    merger.add(Text, long)
    pieces = merger.take()
    assert "".join(piece.text for piece in pieces) == long
    assert max(len(piece.text.encode()) for piece in pieces) <= 64 * 1024


def test_a_text_of_64_kib_is_one_piece() -> None:
    merger = Merger()
    merger.add(Text, "a" * 64 * 1024)
    assert [len(piece.text) for piece in merger.take()] == [64 * 1024]


async def test_adjacent_pieces_of_one_read_merge_and_keep_their_order() -> None:
    async with Upstream() as upstream:
        upstream.script(
            head(),
            together(reasoning("r1"), reasoning("r2"), text("a"), text("b"), reasoning("r3"), text("c"), text("d")),
            text("e"),
            finish(),
            done(),
        )
        heard = await ask_once(upstream)
        assert heard.pieces == [Reasoning("r1r2"), Text("ab"), Reasoning("r3"), Text("cd"), Text("e")]


async def test_pieces_of_two_reads_stay_two_pieces() -> None:
    async with Upstream() as upstream:
        upstream.script(head(), text("a"), text("b"), finish(), done())
        assert (await ask_once(upstream)).pieces == [Text("a"), Text("b")]


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_surrogate_pair_cut_over_two_chunks_is_one_character(at_once: bool) -> None:
    chunks = (text("x\ud83d"), text("\ude42y"))
    async with Upstream() as upstream:
        upstream.script(head(), together(*chunks) if at_once else bytewise(*chunks), finish(), done())
        assert (await ask_once(upstream)).text == "x🙂y"


async def test_a_lone_half_becomes_a_replacement_character() -> None:
    async with Upstream() as upstream:
        upstream.script(head(), text("a\ude42b"), text("c\ud83d"), finish(), done())
        assert (await ask_once(upstream)).text == "a\ufffdbc\ufffd"


async def test_halves_in_reasoning_and_in_text_are_two_lone_halves() -> None:
    framing = FRAMINGS["escaped"]
    async with Upstream() as upstream:
        upstream.script(head(), framing.reasoning("r\ud83d"), framing.text("\ude42t"), framing.finish(), framing.done())
        assert (await ask_once(upstream)).pieces == [Reasoning("r"), Reasoning("\ufffd"), Text("\ufffdt")]
