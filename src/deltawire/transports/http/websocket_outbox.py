"""What waits to be sent on one WebSocket: a bounded buffer for each run, emptied in turns.

In flow the events of many runs; out flow whole messages, a buffer at a time. At rest a token is one message; when the
socket is behind, what has gathered in a buffer leaves as one.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from deltawire.domain.events import Error, Event, Finished, Reasoning, Text

_LARGEST = 64 * 1024
"""Bytes of text in one event."""
_ROOM = 64 * 1024
"""Bytes in one buffer from which on its run waits."""


class Encoder(Protocol):
    """Makes messages of one run's events. Where it makes no bytes, nothing is sent."""

    def event(self, event: Event) -> bytes:
        """An event that is no piece, as a message."""
        ...

    def quoted(self, piece: Text | Reasoning) -> bytes:
        """A piece as a part of a message."""
        ...

    def pieces(self, kind: type[Event], texts: Sequence[bytes]) -> bytes:
        """Adjacent pieces of one kind as one message, made of what ``quoted`` has made of them."""
        ...


class Outbox:
    """The buffers of one socket. One task empties them in turns, so that no run waits behind another's flood."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._filled: deque[Buffer] = deque()
        self._news: asyncio.Future[None] | None = None
        self.crowded: set[Buffer] = set()
        """The buffers whose runs wait for room."""
        self.closed = False

    def buffer(self, run: str | None, encoder: Encoder) -> "Buffer":
        """A new buffer. The one without a ``run`` is for what belongs to none."""
        return Buffer(self, run, encoder)

    @property
    def empty(self) -> bool:
        return not self._filled

    async def next(self) -> "Buffer | None":
        """The buffer whose turn it is, as soon as there is one; ``None`` where somebody has called ``wake`` before."""
        if not self._filled:
            self._news = self._loop.create_future()
            await self._news
        return self._filled.popleft() if self._filled else None

    def wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def close(self) -> None:
        """Nobody empties the buffers any more: nobody shall wait for that either."""
        self.closed = True
        for buffer in self.crowded:
            buffer.wake()

    def fill(self, buffer: "Buffer") -> None:
        self._filled.append(buffer)
        self.wake()


class Buffer:
    """The messages of one run that are not sent yet."""

    __slots__ = ("_encoder", "_kind", "_messages", "_outbox", "_room", "_size", "_texts", "_texts_size", "over", "run")

    def __init__(self, outbox: Outbox, run: str | None, encoder: Encoder) -> None:
        self._outbox = outbox
        self._encoder = encoder
        self._messages: list[bytes] = []
        self._kind: type[Event] = Text
        self._texts: list[bytes] = []
        self._texts_size = 0
        self._size = 0
        self._room: asyncio.Future[None] | None = None
        self.run = run
        self.over = False
        """Whether the run's terminal event is in."""

    def add(self, event: Event) -> None:
        if isinstance(event, Text | Reasoning):
            text = self._encoder.quoted(event)
            if not text:
                return
            if type(event) is not self._kind or self._texts_size + len(text) > _LARGEST:
                self._seal()
                self._kind = type(event)
            self._texts.append(text)
            self._texts_size += len(text)
            self._grow(len(text))
        else:
            if message := self._encoder.event(event):
                self.put(message)
            self.over = isinstance(event, Finished | Error)

    def put(self, message: bytes) -> None:
        self._seal()
        self._messages.append(message)
        self._grow(len(message))

    @property
    def full(self) -> bool:
        return self._size >= _ROOM and not self._outbox.closed

    async def room(self, until: float | None = None) -> None:
        """Wait until the buffer was emptied, at most until that time of the loop's clock."""
        loop = asyncio.get_running_loop()
        self._room = loop.create_future()
        limit = None if until is None else loop.call_at(until, self.wake)
        self._outbox.crowded.add(self)
        try:
            await self._room
        finally:
            self._outbox.crowded.discard(self)
            self._room = None
            if limit is not None:
                limit.cancel()

    def take(self) -> list[bytes]:
        """Everything that is in, as messages."""
        self._seal()
        messages, self._messages = self._messages, []
        self._size = 0
        return messages

    def wake(self) -> None:
        """Whoever waits for room shall look again."""
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    def _grow(self, size: int) -> None:
        was_empty = not self._size
        self._size += size
        if was_empty:
            self._outbox.fill(self)

    def _seal(self) -> None:
        """What comes next is another message."""
        if self._texts:
            self._messages.append(self._encoder.pieces(self._kind, self._texts))
            self._texts = []
            self._texts_size = 0
