"""Memory by the operating system's accounting (Linux)."""

import contextlib
from pathlib import Path

from bench.cpu import process_tree


def resident(pid: int) -> int:
    """Bytes of the process that are in memory; of what others use too, its share (proc_pid_smaps(5), ``Pss``)."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"the kernel tells no memory of process {pid}")


def tree_resident(pid: int) -> int:
    """Of the process and all its descendants."""
    total = 0
    for each in process_tree(pid):
        with contextlib.suppress(FileNotFoundError):  # it ended while we looked
            total += resident(each)
    return total
