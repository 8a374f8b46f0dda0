"""A key that was read at the start, and is read anew when a server refuses it: somebody may have changed it where it
is kept."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from deltawire.domain.errors import DeclarationError

logger = logging.getLogger("deltawire.providers")

_PAUSE = 30.0
"""Seconds between two looks: a key that is simply wrong must not bring each call to the store."""


class KeptSecret:
    def __init__(self, provider: str, value: str, read: Callable[[], str]) -> None:
        """``read`` looks where it is kept, which may take its time, and raises ``DeclarationError``."""
        self.value = value
        self._provider = provider
        self._read = read
        self._look: asyncio.Future[None] | None = None
        self._looked_at: float | None = None

    async def renewed(self, refused: str) -> bool:
        """Whether there is another one than the one that was refused. Those who ask at once share one look."""
        if self.value == refused:
            if self._look is None:
                now = asyncio.get_running_loop().time()
                if self._looked_at is not None and now - self._looked_at < _PAUSE:
                    return False
                self._looked_at = now
                self._look = asyncio.ensure_future(self._look_again())
            await asyncio.shield(self._look)  # one who leaves does not end it for the others
        return self.value != refused

    async def _look_again(self) -> None:
        # A thread of its own: for the loop's own ones a process waits that is to end.
        pool = ThreadPoolExecutor(1, thread_name_prefix="deltawire")
        try:
            self.value = await asyncio.get_running_loop().run_in_executor(pool, self._read)
        except DeclarationError as error:  # where it is kept is for our log, not for a caller
            logger.error("the provider '%s' refused its key, and there is no other: %s", self._provider, error)
        finally:
            self._look = None
            pool.shutdown(wait=False)
