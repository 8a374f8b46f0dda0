"""ASGI driven by hand: what an app sends, one message at a time, and when it may go on."""

import asyncio
from collections.abc import Sequence

from starlette.types import Message, Scope

Headers = Sequence[tuple[str, str]]


class Sends:
    """An ASGI ``send`` that keeps the messages; while it is held, each one waits until it is let go."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.waiting = 0
        self._open = asyncio.Event()
        self._open.set()
        self._news = asyncio.Condition()

    async def __call__(self, message: Message) -> None:
        self.waiting += 1
        await self._tell()
        await self._open.wait()
        self.waiting -= 1
        assert not self.ended, f"after the end came {message}"
        assert bool(self.messages) == (message["type"] != "http.response.start"), message
        self.messages.append(message)
        await self._tell()

    def hold(self) -> None:
        self._open.clear()

    def let_go(self) -> None:
        self._open.set()

    @property
    def ended(self) -> bool:
        return len(self.messages) > 1 and not self.messages[-1].get("more_body", False)

    @property
    def status(self) -> int | None:
        return self.messages[0]["status"] if self.messages else None

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.messages[0]["headers"]}

    @property
    def chunks(self) -> list[bytes]:
        return [message["body"] for message in self.messages[1:]]

    async def sent(self, count: int) -> None:
        """Return when so many messages are out."""
        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(lambda: len(self.messages) >= count)

    async def blocked(self) -> None:
        """Return when a message waits for being let go."""
        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(lambda: self.waiting > 0)

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()


class Receives:
    """An ASGI ``receive`` that hands out what the test wrote down, then waits for ever."""

    def __init__(self, *messages: Message) -> None:
        self._messages = list(messages)
        self.taken = 0

    async def __call__(self) -> Message:
        if not self._messages:
            await asyncio.Event().wait()
        self.taken += 1
        return self._messages.pop(0)


def part(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


GONE: Message = {"type": "http.disconnect"}


def scope(method: str = "POST", path: str = "/v1/functions/say", headers: Headers = ()) -> Scope:
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers],
    }
