"""What uvicorn makes for each connection and request, in small: an empty ``deque`` alone is more than 600 bytes, and it
makes three. Of a stream that is open, each byte counts thousands of times."""

import asyncio
from typing import Generic, TypeVar

from typing_extensions import override

_T = TypeVar("_T")


class SmallEvent(asyncio.Event):
    """Sets aside what ``asyncio.Event`` keeps for tasks that wait until there is one."""

    __slots__ = ("_is_set", "_waiting")

    def __init__(self, *, is_set: bool = False) -> None:
        self._is_set = is_set
        self._waiting: tuple[asyncio.Future[None], ...] = ()

    @override
    def is_set(self) -> bool:
        return self._is_set

    @override
    def set(self) -> None:
        self._is_set = True
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    @override
    def clear(self) -> None:
        self._is_set = False

    @override
    async def wait(self) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]  (its type says that it is always true)
        if not self._is_set:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting = (*self._waiting, waiting)
            try:
                await waiting
            finally:
                self._waiting = tuple(other for other in self._waiting if other is not waiting)
        return True


class SmallQueue(list[_T], Generic[_T]):
    """What uvicorn uses of a ``deque``."""

    __slots__ = ()

    def appendleft(self, item: _T) -> None:
        self.insert(0, item)
