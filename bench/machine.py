"""The machine that a run was made on, in the words of the operating system (Linux)."""

import os
import platform
from pathlib import Path

from bench.results import Machine


def this_machine() -> Machine:
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return Machine(_cpu(), cores, round(memory, 1), f"{platform.system()} {platform.release()}", python)


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
