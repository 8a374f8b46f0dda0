"""Callers in a closed loop: each asks, takes the whole answer, rests a little and asks again, on one connection.

All that comes is kept as it came, and its text is checked when the loop is over.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

import httptools

from bench.tokens import MARK, count_exact


@dataclass(slots=True)
class Asked:
    """One question and what came of it, read by read. Times are the monotonic clock's."""

    begun: float = field(default_factory=time.monotonic)
    ended: float = 0.0
    reads: list[bytes] = field(default_factory=list[bytes])


class LoopCaller(Protocol):
    """One of the callers. It begins by itself once it is connected."""

    idle: asyncio.Event
    """Set when it has stopped asking: it was told to, or its connection is lost."""

    def leave(self) -> None: ...


class ClosedLoop:
    """What the callers share."""

    def __init__(
        self,
        connect: Callable[["ClosedLoop"], Awaitable[Sequence[LoopCaller]]],
        whole: Callable[[list[bytes]], tuple[int, bytes]],
        pieces_of: Callable[[bytes], list[str]],
        *,
        rest: float,
    ) -> None:
        """``whole`` makes status (0: not whole) and body of an answer's reads, ``pieces_of`` the text of a body;
        ``rest`` is the pause between an answer and the next question, in seconds."""
        self._connect = connect
        self._whole = whole
        self._pieces_of = pieces_of
        self._rest = rest
        self._ending = False
        self._awaited = 1
        self._has_answers = asyncio.Event()
        self._callers: Sequence[LoopCaller] = ()
        self.tokens = 0
        self.answers: list[Asked] = []
        self.broken: str | None = None
        """Why a caller could not go on."""

    def break_off(self, why: str) -> None:
        """For a caller that cannot go on."""
        self.broken = self.broken or why
        self._has_answers.set()

    async def open(self, answers: int, within: float) -> None:
        """Return when so many answers have come, or no more will, or after so many seconds."""
        self._awaited = answers
        self._callers = await self._connect(self)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._has_answers.wait()

    async def close(self) -> None:
        """Return when each has got the answer that it waits for."""
        self._ending = True
        for caller in self._callers:
            await caller.idle.wait()

    def leave(self) -> None:
        for caller in self._callers:
            caller.leave()

    def answered(self, asked: Asked, ask: Callable[[], None], idle: asyncio.Event) -> None:
        """For a caller that has its answer: it asks again after its rest, unless the loop ends."""
        asked.ended = time.monotonic()
        self.answers.append(asked)
        if len(self.answers) >= self._awaited:
            self._has_answers.set()

        def again() -> None:
            if self._ending:
                idle.set()
            else:
                ask()

        asyncio.get_running_loop().call_later(self._rest, again)

    def fault(self, tokens: int) -> str | None:
        """What was wrong with one of the answers, each of which should have so many tokens."""
        if self.broken is not None:
            return self.broken
        good: set[bytes] = set()  # some servers' answers are all alike
        for asked in self.answers:
            status, body = self._whole(asked.reads)
            if status != 200:
                return f"a reply with status {status}: {body[:200]!r}"
            if body in good:
                continue
            found = count_exact("".join(self._pieces_of(body)))
            if found is None:
                return "an answer whose text is not what was sent"
            if found != tokens:
                return f"{tokens - found} tokens of an answer lost"
            good.add(body)
        return None


class HttpAsker(asyncio.Protocol):
    """One of the callers over HTTP/1.1, on a connection that is kept."""

    def __init__(self, loop: ClosedLoop, request: bytes) -> None:
        self._loop = loop
        self._request = request
        self._transport: asyncio.Transport
        self._parser: httptools.HttpResponseParser
        self._asked: Asked | None = None
        self.idle = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._ask()

    def _ask(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._asked = Asked()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._loop.tokens += data.count(MARK)
        if self._asked is not None:
            self._asked.reads.append(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._loop.break_off(f"a reply that is no HTTP: {error}")
            self._transport.abort()

    def on_message_complete(self) -> None:
        assert self._asked is not None
        self._loop.answered(self._asked, self._ask, self.idle)
        self._asked = None

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.idle.is_set():
            self._loop.break_off(f"a connection was lost: {exc or 'the server closed it'}")
        self.idle.set()

    def leave(self) -> None:
        self.idle.set()
        self._transport.abort()
