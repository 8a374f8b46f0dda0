"""A caller of a WebSocket, for the benchmark: one run on a socket of its own, as cheap for the caller as SSE is."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from typing_extensions import override

from bench.closed_loop import Asked, ClosedLoop, LoopCaller
from bench.load import Call, connected
from bench.tokens import MARK

_HANDSHAKE = (
    "upgrade: websocket",
    "connection: upgrade",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
)
_PING = b"\x89\x04"
"""As the server sends it: with four bytes, which its pong has too."""
_PONG = b"\x8a\x84" + bytes(4)
_FINISHED = b'{"type":"finished"'
_LAST = (_FINISHED, b'{"type":"error"')
_ID = b'"id": "1"'
"""In the message that starts a run, as ``json.dumps`` writes it."""
_LONG = b"\x81\x7e"
"""How a text frame of more than 125 bytes begins (RFC 6455 §5.2), with the byte that also marks tokens."""


@dataclass(frozen=True, slots=True)
class WebSocketCall(Call):
    """``body`` is the message that starts the run."""

    @override
    def loop(self, port: int, callers: int, rest: float) -> ClosedLoop:
        async def connect(loop: ClosedLoop) -> Sequence[LoopCaller]:
            return await connected(port, callers, lambda: _Asker(loop, self, port))

        return ClosedLoop(connect, _whole, self.pieces_of, rest=rest)

    @override
    def request(self, port: int, *, kept: bool = False) -> bytes:
        lines = [f"GET {self.path} HTTP/1.1", f"host: 127.0.0.1:{port}", *_HANDSHAKE]
        return "\r\n".join([*lines, "", ""]).encode()

    @override
    def after_head(self) -> bytes:
        return _masked(self.body)

    @override
    def reply(self, data: bytes) -> bytes:
        """A pong: who answers no ping for 20 seconds is cut."""
        ping = data.find(_PING)
        return _PONG + data[ping + len(_PING) : ping + len(_PING) + 4] if ping >= 0 else b""

    @override
    def tokens(self, data: bytes) -> int:
        return data.count(MARK) - data.count(_LONG)

    @override
    def over(self, data: bytes) -> bool:
        return _FINISHED in data

    @override
    def answer(self, reads: list[bytes]) -> tuple[int, bytes]:
        """The messages, a line each, as the body."""
        head, _, rest = b"".join(reads).partition(b"\r\n\r\n")
        messages: list[bytes] = []
        while rest:
            size, begin = rest[1], 2
            if size >= 126:
                begin = 4 if size == 126 else 10
                size = int.from_bytes(rest[2:begin])
            if rest[0] == 0x81:
                messages.append(rest[begin : begin + size])
            rest = rest[begin + size :]
        whole = head.startswith(b"HTTP/1.1 101 ") and bool(messages) and self.over(messages[-1])
        return (200 if whole else 0), b"\n".join(messages)


def _masked(text: bytes) -> bytes:
    """A caller's frame of text, masked with zeros."""
    assert len(text) < 126
    return b"\x81" + bytes([0x80 | len(text)]) + bytes(4) + text


def _whole(messages: list[bytes]) -> tuple[int, bytes]:
    return (200 if messages[-1].startswith(_FINISHED) else 0), b"\n".join(messages)


class _Asker(asyncio.Protocol):
    """One of the callers of a closed loop: one run after another on one socket."""

    def __init__(self, loop: ClosedLoop, call: WebSocketCall, port: int) -> None:
        self._loop = loop
        self._call = call
        self._port = port
        self._transport: asyncio.Transport
        self._rest = b""
        self._upgraded = False
        self._number = 0
        self._asked = Asked()
        self.idle = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._call.request(self._port))

    def _ask(self) -> None:
        self._asked = Asked()
        self._number = (self._number + 1) % 10
        self._transport.write(_masked(self._call.body.replace(_ID, b'"id": "%d"' % self._number)))

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        if not self._upgraded:
            head, end, rest = data.partition(b"\r\n\r\n")
            if end and not head.startswith(b"HTTP/1.1 101 "):
                self._loop.break_off(f"no WebSocket: {data[:200]!r}")
                self._transport.abort()
            if end:
                self._upgraded = True
                self._ask()
            data = rest if end else data
        self._rest = self._messages(data) if self._upgraded else data

    def _messages(self, data: bytes) -> bytes:
        """Take each whole frame; what is left."""
        while len(data) >= 2:
            size, begin = data[1], 2
            if size >= 126:
                begin = 4 if size == 126 else 10
                size = int.from_bytes(data[2:begin])
            end = begin + size
            if len(data) < end:
                break
            self._frame(data[0], data[begin:end])
            data = data[end:]
        return data

    def _frame(self, kind: int, payload: bytes) -> None:
        if kind == _PING[0]:
            self._transport.write(_PONG + payload)
        elif kind == 0x81:
            self._asked.reads.append(payload)
            self._loop.tokens += payload.count(MARK)
            if payload.startswith(_LAST):
                self._loop.answered(self._asked, self._ask, self.idle)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.idle.is_set():
            self._loop.break_off(f"a connection was lost: {exc or 'the server closed it'}")
        self.idle.set()

    def leave(self) -> None:
        self.idle.set()
        self._transport.abort()


def pieces_of_lines(body: bytes) -> list[str]:
    """Of events in JSON, one a line."""
    messages = [json.loads(line) for line in body.split(b"\n") if line]
    return [message["text"] for message in messages if message["type"] == "text"]
