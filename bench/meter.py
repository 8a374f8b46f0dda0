"""What a server and its callers have used of their cores between two moments."""

import os
import time
from dataclasses import dataclass

from bench.cpu import tree_seconds, waited_seconds
from bench.results import MOST_FAR_CORE, Figure


@dataclass(frozen=True, slots=True)
class Spent:
    seconds: float
    cpu: float
    """Seconds of CPU that the server has used, with all its processes."""
    far_core: float
    """Upstream and callers, which are this process: of their core, what they used or waited for."""
    far_waited: float
    """And what they only waited for, since others had it."""
    disturbance: float
    """How long the server's threads waited for its core while others had it, together."""

    def figure(self, values: dict[str, float], *, void: str | None = None, saturated: bool = False) -> Figure:
        if void is None and self.far_core > MOST_FAR_CORE:
            void = f"upstream and callers needed {self.far_core:.0%} of their core"
        return Figure(values, None, void, saturated, self.far_core, self.disturbance)


class Meter:
    """Begins on construction."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._far, self._far_waited, self._waited = time.process_time(), _far_waited(), waited_seconds(pid)
        self._begun, self._cpu = time.monotonic(), tree_seconds(pid)

    def read(self) -> Spent:
        seconds, cpu = time.monotonic() - self._begun, tree_seconds(self._pid) - self._cpu
        far, far_waited = time.process_time() - self._far, _far_waited() - self._far_waited
        waited = waited_seconds(self._pid) - self._waited
        return Spent(seconds, cpu, (far + far_waited) / seconds, far_waited / seconds, waited / seconds)


def _far_waited() -> float:
    return waited_seconds(os.getpid(), alone=True)
