"""Lets this process open as many files as its runs need: shells and service managers mostly begin with 1024, and allow
more to whoever asks."""

import logging

logger = logging.getLogger("deltawire")

_A_RUN = 2
"""Its caller's connection and its provider's."""
_BESIDE = 1024
"""Connections on which nobody calls just now, files, and what else there is."""


def allow_open_files(max_runs: int) -> None:
    """Raise the process's own limit, as far as it may. What is missing then is told."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    needed = _A_RUN * max_runs + _BESIDE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    except (OSError, ValueError):  # what the system itself allows is less
        most = soft
    if most < needed:
        logger.warning(
            "%d runs at once (max_runs) need %d open files, and %d are allowed: raise that (ulimit -n) or lower it",
            max_runs,
            needed,
            most,
        )
