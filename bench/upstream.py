"""An OpenAI-compatible upstream that is cheap and paced: every stream gets its tokens at the same rate.

One timer serves all streams. They take turns, evenly spread over the pause between two tokens of one stream, since
tokens of different streams do not come together. All bytes are made beforehand.

In a burst, it writes a whole answer without a pause: still a token at a time, as a model does, each a chunk and an
event of its own. A server that reads more seldom finds several together.
"""

import asyncio
import functools
import json
from typing import Self, cast

import httptools

from bench.ticker import Ticker
from bench.tokens import MOST, token

_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


def _chunk(data: str) -> bytes:
    event = f"data: {data}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(event), event)


def _completion(choices: list[dict[str, object]], **more: object) -> bytes:
    payload = {
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion.chunk",
        "created": 1790000000,
        "model": "bench",
        "service_tier": "default",
        "system_fingerprint": "fp_44709d6fcb",
        "choices": choices,
        **more,
    }
    return _chunk(json.dumps(payload, separators=(",", ":"), ensure_ascii=False))


def _delta(delta: dict[str, object], finish_reason: str | None = None) -> bytes:
    return _completion([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}])


_FIRST = _HEAD + _delta({"role": "assistant", "content": ""})
_TOKENS = [_delta({"content": token(number)}) for number in range(MOST)]
_FINISH = _delta({}, "stop")
_END = _chunk("[DONE]") + b"0\r\n\r\n"
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"


def _last(tokens: int, *, with_usage: bool) -> bytes:
    """What comes after so many tokens."""
    usage = {"prompt_tokens": 9, "completion_tokens": tokens, "total_tokens": 9 + tokens}
    return _FINISH + (_completion([], usage=usage) if with_usage else b"") + _END


@functools.cache
def _burst(tokens: int, *, with_usage: bool) -> list[bytes]:
    """A whole answer, by the write."""
    return [_FIRST + _TOKENS[0], *_TOKENS[1:tokens], _last(tokens, with_usage=with_usage)]


class PacedUpstream:
    """Serves one stream per request until `finish` is called: so many streams, of ``rate`` tokens a second each."""

    at_once: int | None = None
    """How many tokens an answer has that is written without a pause; ``None``: it is paced, until it is finished."""

    def __init__(self, streams: int, rate: float) -> None:
        self._turns: list[list[_Stream]] = [[] for _ in range(streams)]
        self._turn = 0
        self._begun = 0
        self._ticker = Ticker(1 / (rate * streams), self._tick)
        self._server: asyncio.Server
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _Stream(self), "127.0.0.1", 0, backlog=1024
        )
        self.port = self._server.sockets[0].getsockname()[1]
        self._ticker.__enter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._ticker.__exit__()
        self._server.close()
        self.finish()

    def set_rate(self, rate: float) -> None:
        """So many tokens a second in each stream from now on."""
        self._ticker.set_period(1 / (rate * len(self._turns)))

    def finish(self) -> list[int]:
        """End every stream that runs; how many tokens each had, in ascending order."""
        running = [stream for turn in self._turns for stream in turn]
        for turn in self._turns:
            turn.clear()
        return sorted(stream.finish() for stream in running)

    def begin(self, stream: "_Stream") -> None:
        stream.turn = self._turns[self._begun % len(self._turns)]
        stream.turn.append(stream)
        self._begun += 1

    def forget(self, stream: "_Stream") -> None:
        if stream in stream.turn:
            stream.turn.remove(stream)

    def _tick(self, ticks: int) -> None:
        for _ in range(ticks):
            for stream in self._turns[self._turn % len(self._turns)]:
                stream.send_token()
            self._turn += 1


class _Stream(asyncio.Protocol):
    """One connection of a server to us, with one stream at a time on it."""

    def __init__(self, upstream: PacedUpstream) -> None:
        self._upstream = upstream
        self._parser = httptools.HttpRequestParser(self)
        self._body = b""
        self._kept = True
        self._sent = 0
        self._transport: asyncio.Transport
        self.turn: list[_Stream] = []
        """Those that get their tokens together with this one."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (the name is the base class's)
        self._upstream.forget(self)

    def on_message_begin(self) -> None:
        self._body = b""

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if not self._body:  # a proxy that looks who is there
            self._transport.write(_NOT_FOUND)
            return
        if self._upstream.at_once is not None:
            self._kept = self._parser.should_keep_alive()  # told of the message that ends here, and not later
            self._pour(_burst(self._upstream.at_once, with_usage=self._wants_usage()), 0)
            return
        self._sent = 0
        self._transport.write(_FIRST)
        self._upstream.begin(self)

    def _pour(self, written: list[bytes], number: int) -> None:
        """This one and then the others, each in a turn of the loop: what is written in one turn is sent as one."""
        if not self._transport.is_closing():
            self._transport.write(written[number])
            if number + 1 < len(written):
                asyncio.get_running_loop().call_soon(self._pour, written, number + 1)
            elif not self._kept:
                self._transport.close()

    def _wants_usage(self) -> bool:
        return b'"include_usage":true' in self._body.replace(b" ", b"")

    def send_token(self) -> None:
        if self._sent < MOST:
            self._transport.write(_TOKENS[self._sent])
            self._sent += 1

    def finish(self) -> int:
        self._transport.write(_last(self._sent, with_usage=self._wants_usage()))
        return self._sent
