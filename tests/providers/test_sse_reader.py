"""The SSE reader against the standard, for any cut of the bytes."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltawire.providers.sse_reader import SseReader

LIMIT = 1000


def read(*received: bytes) -> list[bytes]:
    reader = SseReader(LIMIT)
    return [event for part in received for event in reader.feed(part)]


def bytewise(stream: bytes) -> list[bytes]:
    return read(*(stream[i : i + 1] for i in range(len(stream))))


@pytest.mark.parametrize(
    "stream",
    [b"data: a\n\ndata: b\n\n", b"data: a\r\n\r\ndata: b\r\n\r\n", b"data: a\r\rdata: b\r\r", b"data:a\n\ndata:b\n\n"],
)
def test_every_line_end_and_an_optional_space_give_the_same_events(stream: bytes) -> None:
    assert read(stream) == bytewise(stream) == [b"a", b"b"]


def test_a_crlf_that_is_cut_between_two_reads_is_one_line_end() -> None:
    assert read(b"data: a\r", b"\n\r", b"\ndata: b\r", b"\n", b"\r\n") == [b"a", b"b"]


def test_an_event_after_a_bare_cr_is_not_held_back() -> None:
    assert read(b"data: a\r\r") == [b"a"]


def test_many_data_lines_are_one_event_joined_by_line_feeds() -> None:
    assert read(b'data: {"a":\ndata: 1}\n\n') == [b'{"a":\n1}']


def test_comments_ids_retries_unknown_fields_and_empty_data_are_no_events() -> None:
    stream = b": hi\n\n:\n\nretry: 1500\n\nid: 7\n\ndata:\n\nevent: ping\n\ndata\n\nfoo: bar\n\ndata: x\n\n"
    assert read(stream) == bytewise(stream) == [b"x"]


def test_one_byte_order_mark_at_the_start_goes_and_later_ones_stay() -> None:
    stream = b"\xef\xbb\xbfdata: \xef\xbb\xbfa\n\n"
    assert read(stream) == bytewise(stream) == [b"\xef\xbb\xbfa"]


def test_a_stream_that_begins_like_a_byte_order_mark_loses_nothing() -> None:
    assert read(b"\xef", b"\xbbx: 1\n\ndata: a\n\n") == [b"a"]


def test_characters_that_other_splitters_take_for_line_ends_stay() -> None:
    text = "a\u2028b\u0085c\x0bd\x0ce✅".encode()
    assert bytewise(b"data: " + text + b"\n\n") == [text]


def test_leading_spaces_but_the_first_stay() -> None:
    assert read(b"data:   a\n\n") == [b"  a"]


def test_an_event_without_its_blank_line_comes_out_at_the_end() -> None:
    reader = SseReader(LIMIT)
    assert reader.feed(b"data: a\n\ndata: [DONE]") == [b"a"]
    assert reader.end() == [b"[DONE]"]
    assert reader.end() == []


def test_a_stream_of_less_than_a_byte_order_mark_ends_empty() -> None:
    reader = SseReader(LIMIT)
    assert reader.feed(b"\xef\xbb") == []
    assert reader.end() == []


@pytest.mark.parametrize("part", [b"x" * 100, b"data: " + b"x" * 50 + b"\n"])
def test_an_event_without_end_is_dropped_before_it_fills_the_memory(part: bytes) -> None:
    reader = SseReader(LIMIT)
    assert [event for _ in range(40) for event in reader.feed(part)] == []
    assert reader.overflowed
    assert reader.end() == []


@pytest.mark.parametrize("before", [b"", b"data: a\n\n"])
def test_events_before_one_that_is_too_large_come_out_of_the_same_read(before: bytes) -> None:
    reader = SseReader(LIMIT)
    reader.feed(before)
    assert reader.feed(b"data: b\n\ndata: " + b"x" * (LIMIT + 1) + b"\n\ndata: c\n\n") == [b"b"]
    assert reader.overflowed
    assert reader.feed(b"data: d\n\n") == []


def test_a_line_of_a_megabyte_that_comes_byte_by_byte_is_read_in_linear_time() -> None:
    reader = SseReader(10**7)
    reader.feed(b"data: ")
    for _ in range(10**6):
        reader.feed(b"x")
    assert [len(event) for event in reader.feed(b"\n\n")] == [10**6]


LINE_ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
DATA = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1, max_size=30)


@given(st.lists(DATA, max_size=8), LINE_ENDS, st.lists(st.integers(0, 400), max_size=12), st.booleans())
def test_any_data_comes_out_whole_however_the_bytes_are_cut(
    texts: list[str], end: bytes, cuts: list[int], mark: bool
) -> None:
    stream = b"".join(b"data: " + text.encode() + end + end for text in texts)
    stream = (b"\xef\xbb\xbf" if mark else b"") + stream
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    parts = [stream[a:b] for a, b in itertools.pairwise(places)]
    assert read(*parts) == [text.encode() for text in texts]


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_any_bytes_in_any_cut_give_what_they_give_in_one_read(parts: list[bytes]) -> None:
    assert read(*parts) == read(b"".join(parts)) == bytewise(b"".join(parts))


def test_a_line_of_empty_data_in_a_read_before_is_a_part_of_the_event() -> None:
    reader = SseReader(100)
    assert reader.feed(b": fresh no more\n") == []
    assert reader.feed(b"data:\n") == []
    assert reader.feed(b"data: y\n\n") == [b"\ny"]


def test_lines_of_empty_data_count_against_the_limit() -> None:
    reader = SseReader(100)
    for _ in range(20):
        reader.feed(b"data:\n")
    assert reader.overflowed
