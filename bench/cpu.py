"""CPU time by the operating system's accounting, and the placing of processes on cores (Linux)."""

import contextlib
import os
import time
from collections.abc import Generator
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


def two_cores() -> tuple[int, int]:
    """The core for the server and the one for everything else."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        raise SystemExit("the benchmark needs two cores: one for the server, one for its callers and upstream")
    return allowed[0], allowed[1]


@contextlib.contextmanager
def on_core(core: int) -> Generator[None]:
    """What is started in here starts on that core and stays there, with all its children."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def tree_seconds(pid: int) -> float:
    """User and system time that the process and all its descendants have used, with children that have ended.

    Of those that live, to the nanosecond: two hundred starts may take no more than a tick of /proc. Of those that have
    ended, in ticks.
    """
    total = 0.0
    for each in process_tree(pid):
        with contextlib.suppress(OSError):  # it ended while we looked
            total += time.clock_gettime(_clock_of(each)) + sum(map(int, _stat(each)[13:15])) * _TICK
    return total


def _clock_of(pid: int) -> int:
    """The process's own clock of CPU time, by the number that clock_getcpuclockid(3) makes on Linux."""
    return (~pid << 3) | 2


def waited_seconds(pid: int, *, alone: bool = False) -> float:
    """How long threads of the process (and of its descendants, unless ``alone``) were ready to run while others had
    their core.

    Zero where the kernel keeps no such account. The busy time of a core in /proc/stat would not do: it is sampled at
    ticks, and a process that wakes with the ticks is seen always or never.
    """
    nanoseconds = 0
    for each in [pid] if alone else process_tree(pid):
        with contextlib.suppress(OSError, IndexError):
            for thread in (_PROC / str(each) / "task").iterdir():
                nanoseconds += int((thread / "schedstat").read_text().split()[1])
    return nanoseconds / 1e9


def process_tree(pid: int) -> list[int]:
    """The process and all its descendants."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                children.setdefault(int(_stat(int(folder.name))[1]), []).append(int(folder.name))
    found: list[int] = []
    pending = [pid]
    while pending:
        each = pending.pop()
        found.append(each)
        pending += children.get(each, [])
    return found


def _stat(pid: int) -> list[str]:
    """The fields of proc_pid_stat(5) from the third on; the second, a name in parentheses, may hold anything."""
    return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
