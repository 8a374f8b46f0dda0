"""A timer finer than an event loop's: Linux's timerfd, which asyncio and uvloop can wait for as for any descriptor."""

import asyncio
import ctypes
import os
from collections.abc import Callable
from typing import Self

_CLOCK_MONOTONIC = 1


class _Interval(ctypes.Structure):
    """struct itimerspec: the period and the first expiry, each in seconds and nanoseconds."""

    _fields_ = (
        ("period_s", ctypes.c_long),
        ("period_ns", ctypes.c_long),
        ("first_s", ctypes.c_long),
        ("first_ns", ctypes.c_long),
    )


class Ticker:
    """Calls a function at a steady period; when the loop was late, it tells how many periods have passed."""

    def __init__(self, period: float, tick: Callable[[int], None]) -> None:
        self._period_ns = round(period * 1e9)
        self._tick = tick
        self._descriptor = -1

    def __enter__(self) -> Self:
        self._descriptor = _libc().timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "timerfd")
        self._start()
        asyncio.get_running_loop().add_reader(self._descriptor, self._expired)
        return self

    def set_period(self, period: float) -> None:
        self._period_ns = round(period * 1e9)
        self._start()

    def _start(self) -> None:
        seconds, nanoseconds = divmod(self._period_ns, 10**9)
        interval = _Interval(seconds, nanoseconds, seconds, nanoseconds)
        if _libc().timerfd_settime(self._descriptor, 0, ctypes.byref(interval), None) < 0:
            raise OSError(ctypes.get_errno(), "timerfd")

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _expired(self) -> None:
        self._tick(int.from_bytes(os.read(self._descriptor, 8), "little"))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
