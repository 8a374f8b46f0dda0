"""How many runs there may be at once. Whoever comes beyond is refused at once: a queue would make all of them late, and
keep what their callers have sent. So is whoever comes when the server is shutting down.
"""

from math import inf

from deltawire.domain.errors import Reason, RunError

_RETRY_AFTER = 1.0
"""Seconds. When a place will be free nobody knows; this keeps those who are refused from asking at once."""


def draining() -> RunError:
    return RunError(Reason.draining, "the server is shutting down; connect again")


def cut_short() -> RunError:
    return RunError(Reason.draining, "the server has shut down before the run was over")


class Admission:
    """Counts the runs under way. Each takes a place with ``enter`` and gives it back with ``leave``, once."""

    def __init__(self, most: float = inf) -> None:
        self._most = most
        self._leaving = self._draining = False
        self.under_way = 0

    @property
    def open(self) -> bool:
        """Whether runs may still come: what those are told who decide where new ones go."""
        return not self._leaving

    def leaving(self) -> None:
        """The server is to stop: whoever asks is told to send nothing more, but whoever comes is still taken."""
        self._leaving = True

    def drain(self) -> None:
        """From here nobody is taken."""
        self._leaving = self._draining = True

    def enter(self) -> None:
        """Raises ``RunError`` (draining, overloaded)."""
        if self._draining:
            raise draining()
        if self.under_way >= self._most:
            message = f"the server has as many runs under way as it may have: {self._most} (max_runs)"
            raise RunError(Reason.overloaded, message, retry_after=_RETRY_AFTER)
        self.under_way += 1

    def leave(self) -> None:
        self.under_way -= 1
