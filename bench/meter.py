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
    disturbance: float

    def figure(self, values: dict[str, float], *, void: str | None = None, saturated: bool = False) -> Figure:
        if self.far_core > MOST_FAR_CORE:
            void = f"upstream and callers had {self.far_core:.0%} of their core"
        return Figure(values, None, void, saturated, self.far_core, self.disturbance)


class Meter:
    """Begins on construction."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._far, self._waited = _far_seconds(), waited_seconds(pid)
        self._begun, self._cpu = time.monotonic(), tree_seconds(pid)

    def read(self) -> Spent:
        seconds, cpu = time.monotonic() - self._begun, tree_seconds(self._pid) - self._cpu
        far, waited = _far_seconds() - self._far, waited_seconds(self._pid) - self._waited
        return Spent(seconds, cpu, far / seconds, waited / seconds)


def _far_seconds() -> float:
    """What upstream and callers, which are this process, have used of their core or waited for."""
    return time.process_time() + waited_seconds(os.getpid(), alone=True)
