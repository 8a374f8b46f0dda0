"""What the server's process holds, seen from outside: memory, descriptors, sockets."""

import asyncio
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident(pid: int) -> int:
    """Bytes of memory in use (RSS)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


def descriptors(pid: int) -> Counter[str]:
    """How many there are of each kind: ``socket``, ``pipe``, ``anon_inode``, and the paths of files."""
    kinds: Counter[str] = Counter()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            kinds[str(entry.readlink()).partition(":")[0]] += 1
        except FileNotFoundError:
            continue
    return kinds


@dataclass(slots=True)
class Memory:
    """The memory of a process, over time."""

    pid: int
    begun: float = field(default_factory=time.monotonic)
    samples: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    """Seconds from the beginning, and bytes."""

    async def watch(self, every: float = 0.5) -> None:
        while True:
            self.samples.append((time.monotonic() - self.begun, resident(self.pid)))
            await asyncio.sleep(every)

    def windows(self, warm_up: float, share: float) -> tuple[float, float]:
        """The medians of the first and of the last window after the warm-up, which are each that share of the rest."""
        end = self.samples[-1][0]
        begin = end * warm_up
        width = (end - begin) * share
        first = [size for at, size in self.samples if begin <= at <= begin + width]
        last = [size for at, size in self.samples if at >= end - width]
        return median(first), median(last)
