"""How many runs there may be at once. Whoever comes beyond is refused at once: a queue would make all of them late, and
keep what their callers have sent.
"""

from math import inf

from deltawire.domain.errors import Reason, RunError

_RETRY_AFTER = 1.0
"""Seconds. When a place will be free nobody knows; this keeps those who are refused from asking at once."""


class Admission:
    """Counts the runs under way. Each takes a place with ``enter`` and gives it back with ``leave``, once."""

    def __init__(self, most: float = inf) -> None:
        self._most = most
        self.under_way = 0

    def enter(self) -> None:
        """Raises ``RunError`` (overloaded)."""
        if self.under_way >= self._most:
            message = f"the server has as many runs under way as it may have: {self._most} (max_runs)"
            raise RunError(Reason.overloaded, message, retry_after=_RETRY_AFTER)
        self.under_way += 1

    def leave(self) -> None:
        self.under_way -= 1
