"""The soak tells a server that loses, doubles, alters, hangs or keeps something from one that does not."""

import os
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from soak.book import Book, Made
from soak.faults import deck
from soak.gauges import Memory, descriptors, resident
from soak.grpc_caller import reply_of
from soak.play import Manner, Play, Scene, Seen
from soak.provider_faults import good
from soak.verdict import breach
from soak.wires import ALL

from tests.matrix.answers import events
from tests.matrix.grpc_caller import Reading
from tests.matrix.notation import Call

FINISHED = frozenset({"finished"})
RUN_ID = "01890a5d-ac96-774b-bcce-b302099a8057"


def play(*outcomes: str, said: str = "Hello", manner: Manner = Manner.reads) -> Play:
    return Play(Call("say"), frozenset(outcomes), said=said, manner=manner)


def test_a_run_has_exactly_one_end_and_the_one_that_its_fault_makes() -> None:
    good = play("finished")
    assert breach("sse", good, Seen(["finished"], "Hello")) is None
    assert "0 terminal events" in (breach("sse", good, Seen([], "Hello")) or "")
    assert "2 terminal events" in (breach("sse", good, Seen(["finished", "finished"], "Hello")) or "")
    assert "ended in internal" in (breach("sse", good, Seen(["internal"])) or "")
    assert "ended in finished" in (breach("sse", play("upstream_truncated"), Seen(["finished"], "Hello")) or "")


def test_a_text_is_exact_and_what_fails_is_a_beginning_of_it() -> None:
    assert "the text is 'Hell'" in (breach("sse", play("finished"), Seen(["finished"], "Hell")) or "")
    broken = play("upstream_truncated")
    assert breach("sse", broken, Seen(["upstream_truncated"], "He")) is None
    assert "began with 'Hi'" in (breach("sse", broken, Seen(["upstream_truncated"], "Hi")) or "")
    assert breach("article", play("finished", said="a\r\nb\r"), Seen(["finished"], "a\nb\n")) is None


def test_only_a_plain_text_that_fails_late_and_a_caller_who_takes_nothing_may_be_cut() -> None:
    broken = play("upstream_truncated")
    assert breach("text", broken, Seen(text="He", cut=True)) is None
    assert breach("sse", broken, Seen(text="He", cut=True)) == "the connection was cut"
    assert breach("text", play("finished"), Seen(text="He", cut=True)) == "the connection was cut"
    assert breach("sse", play("canceled", manner=Manner.takes_nothing), Seen(cut=True)) is None


def line(outcome: str, run_id: str = "1", **members: Any) -> dict[str, Any]:
    return {"logger": "deltawire.run", "level": "info", "outcome": outcome, "run_id": run_id, **members}


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([line("stop")], None),
        ([], "no line in the log for the run 1"),
        ([line("stop"), line("stop")], "a line in the log that no run explains"),
        ([line("canceled")], "the log says canceled, not finished"),
        ([line("stop"), line("stop", "2")], "a line in the log that no run explains"),
        ([line("stop", trace="Traceback …")], "a traceback in the log"),
        ([line("stop"), {"logger": "asyncio", "level": "error", "message": "Task was destroyed"}], "the log says"),
    ],
)
def test_each_run_has_one_line_in_the_log(lines: list[dict[str, Any]], wrong: str | None) -> None:
    book = Book()
    book.note("1", Made("a run", FINISHED))
    found = [*book.read(lines), *book.close()]
    assert (found == []) if wrong is None else any(wrong in one for one in found)


def test_runs_whose_callers_heard_of_no_id_have_their_lines_too() -> None:
    book = Book()
    book.note(None, Made("left", frozenset({"canceled"})))
    book.note(None, Made("late", frozenset({"total_timeout"}), may_not_arrive=True))
    assert book.missing == 1
    assert book.close() == ["left: no line in the log with canceled"]


def test_memory_is_compared_by_windows_after_the_warm_up() -> None:
    memory = Memory(os.getpid(), samples=[(float(second), 100 if second < 20 else second) for second in range(101)])
    assert memory.windows(0.2, 0.2) == (28, 92)


class LateCall:
    """Its client's deadline fired as the server's status came: grpcio tells its own words and the server's trailers."""

    def __init__(self, details: str) -> None:
        self._details = details

    def cancel(self) -> bool:
        return False

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.DEADLINE_EXCEEDED

    def details(self) -> str:
        return self._details

    def initial_metadata(self) -> list[tuple[str, str | bytes]]:
        return [("deltawire-run-id", RUN_ID)]

    def trailing_metadata(self) -> list[tuple[str, str | bytes]]:
        status = status_pb2.Status(code=4, message="The run took too long.")
        status.details.add().Pack(error_details_pb2.ErrorInfo(reason="total_timeout"))
        return [("grpc-status-details-bin", status.SerializeToString(deterministic=True))]


def test_a_call_that_its_clients_deadline_ended_is_told_by_the_client_alone() -> None:
    reply = reply_of(LateCall("Deadline Exceeded"), Reading())
    assert events("grpc", reply) == [{"type": "error", "code": "deadline_exceeded"}]
    assert reply.run_id == RUN_ID
    told = events("grpc", reply_of(LateCall("The run took too long."), Reading()))
    assert told == [{"type": "error", "code": "deadline_exceeded", "reason": "total_timeout"}]


def test_descriptors_and_memory_are_those_of_the_process(tmp_path: Path) -> None:
    before = descriptors(os.getpid()).total()
    with (tmp_path / "file").open("w"):
        assert descriptors(os.getpid()).total() == before + 1
    assert resident(os.getpid()) > 1_000_000


def test_a_round_holds_each_fault_on_each_of_its_wires_and_a_seed_gives_the_same_again() -> None:
    cards = deck(0, Random("1"))
    assert cards == deck(0, Random("1"))
    assert {wire for _, wire in cards} == set(ALL)
    faults = {fault.name: fault for fault, _ in cards}
    assert len(faults) > 50
    assert all((fault, wire) in cards for fault in faults.values() for wire in fault.wires)
    one, same = (good(Scene(Random("1"), "soak-1", "sse")) for _ in range(2))
    assert (one.said, one.scripts) == (same.said, same.scripts)
