"""One request and what became of it: what the test asks after the fact, or waits for."""

import asyncio
import contextlib

from tests.upstream.request import Request


class Exchange:
    """A request, how far its script has come, and whether its client is still there."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.arrived_at = asyncio.get_running_loop().time()
        """When the request was complete, by the clock of the loop."""
        self.sent = 0
        """Bytes that the kernel has taken so far; it stands still while the client does not read."""
        self.played = False
        """Whether the script has come to its end."""
        self.left_at: float | None = None
        """When the client closed or reset the connection, by the clock of the loop."""
        self._gone = asyncio.Event()
        self._over = asyncio.Event()

    async def client_left(self, *, within: float = 1.0) -> float:
        """Return when the client has closed its connection, with the loop's time of that moment."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._gone.wait(), within)
        if self.left_at is not None:
            return self.left_at
        if self._gone.is_set():
            raise AssertionError(f"the upstream closed first: whether the client left cannot be told of {self}")
        raise AssertionError(f"the client still holds its connection after {within} s: {self}")

    async def finished(self, *, within: float = 30.0) -> None:
        """Return when the script has been played to its end."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), within)
        if not self.played:
            why = "the client left" if self._gone.is_set() else f"{within} s passed"
            raise AssertionError(f"{why} before the script came to its end: {self}")

    async def stands_still(self, *, within: float = 30.0) -> None:
        """Return when no more can be sent: the client does not read, and every buffer on the way is full."""
        async with asyncio.timeout(within):
            before = -1
            while before != self.sent:
                before = self.sent
                await asyncio.sleep(0.3)

    def note_sent(self, size: int) -> None:
        self.sent += size

    def note_played(self) -> None:
        self.played = True
        self._over.set()

    def note_gone(self, *, by_client: bool) -> None:
        """The connection ended. The first word counts: what follows a close of ours says nothing of the client."""
        if not self._gone.is_set() and by_client:
            self.left_at = asyncio.get_running_loop().time()
        self._gone.set()
        self._over.set()

    def __repr__(self) -> str:
        request = self.request
        return f"{request.method} {request.path} on connection {request.connection}, {self.sent} bytes sent"
