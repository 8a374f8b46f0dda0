"""What the times of an answer's pieces tell of the way they came."""

from deltawire.callers.arrival import Arrival, judge

SENT, BEGUN = 10.0, 10.5


def evenly(pieces: int, gap: float) -> list[float]:
    return [BEGUN + gap * number for number in range(pieces)]


def test_pieces_that_stand_apart_come_one_by_one() -> None:
    pieces = evenly(20, 0.02)
    assert judge([(SENT, pieces, pieces[-1])] * 3) == Arrival(
        verdict="one by one", answers=3, agreeing=3, pieces_in_a_clump=1.0, pause=judge([(SENT, pieces, 0)]).pause
    )


def test_some_that_come_together_by_chance_are_no_clumps() -> None:
    pieces = sorted([*evenly(20, 0.02), *evenly(20, 0.02)])  # each twice
    assert judge([(SENT, pieces, pieces[-1])]).verdict == "one by one"


def test_all_at_the_end_is_held_back() -> None:
    found = judge([(SENT, [BEGUN + 2] * 40, BEGUN + 2), (SENT, evenly(40, 0.00005), BEGUN + 0.002)])
    assert (found.verdict, found.agreeing, found.pieces_in_a_clump) == ("at once", 2, 40)


def test_parts_of_an_answer_with_pauses_between_them_are_clumps() -> None:
    pieces = sorted(evenly(5, 0.5) * 8)
    found = judge([(SENT, pieces, pieces[-1])])
    assert (found.verdict, found.pieces_in_a_clump, found.pause) == ("in clumps", 8, 0.5)


def test_the_commonest_way_is_told_and_how_many_came_so() -> None:
    apart, held = evenly(10, 0.1), [BEGUN] * 10
    found = judge([(SENT, apart, apart[-1]), (SENT, held, BEGUN), (SENT, apart, apart[-1])])
    assert (found.verdict, found.answers, found.agreeing) == ("one by one", 3, 2)


def test_a_few_pieces_tell_nothing() -> None:
    assert judge([(SENT, [BEGUN] * 7, BEGUN)]) == Arrival(verdict="unclear", answers=0, agreeing=0)
