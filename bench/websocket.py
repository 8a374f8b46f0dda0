"""A caller of a WebSocket, for the benchmark: one run on a socket of its own, as cheap for the caller as SSE is."""

import json
from dataclasses import dataclass

from typing_extensions import override

from bench.load import Call
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
_LONG = b"\x81\x7e"
"""How a text frame of more than 125 bytes begins (RFC 6455 §5.2), with the byte that also marks tokens."""


@dataclass(frozen=True, slots=True)
class WebSocketCall(Call):
    """``body`` is the message that starts the run."""

    @override
    def request(self, port: int) -> bytes:
        lines = [f"GET {self.path} HTTP/1.1", f"host: 127.0.0.1:{port}", *_HANDSHAKE]
        return "\r\n".join([*lines, "", ""]).encode()

    @override
    def after_head(self) -> bytes:
        size = len(self.body)
        assert size < 126
        return b"\x81" + bytes([0x80 | size]) + bytes(4) + self.body  # masked with zeros

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
        return b'{"type":"finished"' in data

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


def pieces_of_lines(body: bytes) -> list[str]:
    """Of events in JSON, one a line."""
    messages = [json.loads(line) for line in body.split(b"\n") if line]
    return [message["text"] for message in messages if message["type"] == "text"]
