"""Each fuzz target in every run of the tests: its seeds, and as many other inputs as there is time for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.target import cut
from tests.fuzz.targets import TARGETS

EVERY = pytest.mark.parametrize("name", TARGETS)


@EVERY
def test_every_seed_is_read_as_it_must_be(name: str) -> None:
    check, seeds, _ = TARGETS[name]
    assert seeds
    for seed in (b"", *seeds):
        check(seed)


@EVERY
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_words_and_bytes_in_any_order_are_read_as_they_must_be(name: str, data: st.DataObject) -> None:
    check, seeds, words = TARGETS[name]
    part = st.sampled_from([*words, *seeds]) | st.binary(max_size=8)
    check(b"".join(data.draw(st.lists(part, max_size=12))))


@given(st.binary(max_size=60))
def test_every_way_of_cutting_brings_the_whole_stream_in_parts_that_are_not_empty(given: bytes) -> None:
    stream, ways = cut(given)
    assert [b"".join(parts) for parts in ways] == [stream] * 3
    assert all(part for parts in ways for part in parts)
