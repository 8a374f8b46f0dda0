"""From answers to figures."""

from array import array

import pytest

from deltawire.callers.answer import Answer, CallFailedError
from deltawire.callers.figures import Counts, Failures, Spread, figures
from deltawire.callers.load import Load, Plan


def answer(sent: float, pieces: list[float], ended: float, *, tokens: int | None = 4) -> Answer:
    return Answer(sent=sent, pieces=array("d", pieces), ended=ended, received=200, tokens=tokens)


def loaded(*answers: Answer, started: int = 0) -> Load:
    load = Load(Plan(callers=2, requests=9, seconds=None, timeout=1.0))
    load.answers += answers
    load.failed = sum(one.failure is not None for one in answers)
    load.started = started or len(answers)
    load.ended = 4.0
    return load


def failed(reason: str, message: str) -> Answer:
    return Answer(ended=1.0, failure=CallFailedError(reason, message))


def test_times_count_from_when_the_request_was_sent() -> None:
    found = figures(loaded(answer(1.0, [1.5, 1.75, 2.25], 2.5), answer(1.0, [2.0, 2.25], 3.0)), streams=True)
    assert found.first_piece == Spread(p50=0.5, p90=1.0, p99=1.0, max=1.0)
    assert found.gap == Spread(p50=0.25, p90=0.5, p99=0.5, max=0.5)
    assert found.whole == Spread(p50=1.5, p90=2.0, p99=2.0, max=2.0)
    assert (found.runs_per_second, found.pieces_per_second) == (0.5, 1.25)
    assert found.pieces == Counts(least=2, median=2.5, most=3)
    assert found.bytes_per_token == 50


def test_streams_are_open_from_their_first_piece_to_their_end() -> None:
    answers = answer(0, [1.0], 3.0), answer(0, [2.0], 4.0), answer(0, [3.5], 4.0), answer(0, [], 4.0)
    assert figures(loaded(*answers), streams=True).open_at_once == 2


def test_an_answer_that_comes_all_at_once_was_open_as_well() -> None:
    assert figures(loaded(answer(0, [3.0, 3.0], 3.0)), streams=True).open_at_once == 1


def test_failures_count_by_reason_and_take_no_part_in_the_times() -> None:
    found = figures(
        loaded(failed("cut", "a"), failed("late", "b"), failed("late", "c"), answer(0, [1.0], 2.0), started=6),
        streams=True,
    )
    assert found.failures == [Failures("late", 2, "b"), Failures("cut", 1, "a")]
    assert (found.ok, found.failed, found.unfinished) == (1, 3, 2)
    assert found.whole == Spread(2.0, 2.0, 2.0, 2.0)


@pytest.mark.parametrize("tokens", [None, 0])
def test_without_counted_tokens_bytes_are_by_piece(tokens: int | None) -> None:
    answers = answer(0, [1.0, 2.0], 2.0, tokens=None), answer(0, [1.0, 2.0], 2.0, tokens=tokens)
    assert figures(loaded(*answers), streams=True).bytes_per_token == 100


def test_nothing_that_went_well_is_no_figure() -> None:
    found = figures(loaded(failed("late", "b")), streams=True)
    assert (found.whole, found.first_piece, found.gap, found.arrival, found.bytes_per_token) == (None,) * 5
