"""The runs that were made and the lines of the log, held against each other: one line for each, with its outcome."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deltawire.domain.events import FinishReason

Line = Mapping[str, Any]
_TOLD_BESIDES = {"deltawire.engine", "uvicorn.error"}
"""The loggers that may say something besides the lines of runs: of breakers that open and close, of bytes that are no
HTTP."""

_FINISH_REASONS = frozenset(map(str, FinishReason))


@dataclass(frozen=True, slots=True)
class Made:
    """A run that was made."""

    name: str
    outcomes: frozenset[str]
    may_not_arrive: bool = False


@dataclass(slots=True)
class Book:
    by_id: dict[str, Made] = field(default_factory=dict[str, Made])
    nameless: list[Made] = field(default_factory=list[Made])
    """Runs whose callers never heard of an id."""
    lines: int = 0
    besides: Counter[str] = field(default_factory=Counter[str])
    _waiting: list[Line] = field(default_factory=list[Line])

    def note(self, run_id: str | None, made: Made) -> None:
        if run_id is None:
            self.nameless.append(made)
        else:
            self.by_id[run_id] = made

    def read(self, lines: Sequence[Line]) -> list[str]:
        """Take new lines; what is wrong with them by themselves."""
        wrong: list[str] = []
        for line in lines:
            if "trace" in line:
                wrong.append(f"a traceback in the log: {line}")
            elif line["logger"] == "deltawire.run":
                self.lines += 1
                self._waiting.append(line)
            elif line["logger"] in _TOLD_BESIDES and line["level"] != "error":
                self.besides[line["message"].partition(" (")[0]] += 1
            else:
                wrong.append(f"the log says {line}")
        return wrong

    @property
    def missing(self) -> int:
        """How many lines are still to come."""
        certain = sum(not made.may_not_arrive for made in self.nameless)
        return len(self.by_id) + certain - len(self._waiting)

    def close(self) -> list[str]:
        """When all runs are over: whatever does not go together. The book is empty afterwards."""
        wrong: list[str] = []
        rest: list[Line] = []
        for line in self._waiting:
            made = self.by_id.pop(line["run_id"], None)
            if made is None:
                rest.append(line)
            elif _outcome(line) not in made.outcomes:
                wrong.append(f"{made.name}: the log says {line['outcome']}, not {' or '.join(made.outcomes)}: {line}")
        wrong += [f"{made.name}: no line in the log for the run {run}" for run, made in self.by_id.items()]
        for made in sorted(self.nameless, key=lambda made: (made.may_not_arrive, len(made.outcomes))):
            found = next((line for line in rest if _outcome(line) in made.outcomes), None)
            if found is not None:
                rest.remove(found)
            elif not made.may_not_arrive:
                wrong.append(f"{made.name}: no line in the log with {' or '.join(made.outcomes)}")
        wrong += [f"a line in the log that no run explains: {line}" for line in rest]
        self._waiting, self.by_id, self.nameless = [], {}, []
        return wrong


def _outcome(line: Line) -> str:
    """Of a run that finished, the log says with which reason."""
    return "finished" if line["outcome"] in _FINISH_REASONS else line["outcome"]
