"""``examples/shop.py`` on a server, what its model says to each message, and a poor proxy before it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from tests.upstream import Request, Step, done, error_event, error_reply, finish, head, silence, text, usage

PIECES = ("Hel", "lo,\nwörld \u2028 😀", ' data: "x"\r\n\n', "end")
"""Awkward for readers that cut lines where they should not."""
ANSWER = "".join(PIECES)
ITEMS = ["red kettle", "lämps 😀"]

_END = (finish("stop"), usage(9, 2), done())


def say(request: Request) -> Sequence[Step]:
    """What the model does is named by the user's message."""
    typed = "response_format" in request.json
    match request.json["messages"][-1]["content"]:
        case "whole" if typed:
            return (head(), text(json.dumps({"items": ITEMS}, ensure_ascii=False)), *_END)
        case "whole":
            return (head(), *map(text, PIECES), *_END)
        case "early":
            return (error_reply(400, "not this one"),)
        case "late":
            return (head(), text("Hel"), error_event("broken"))
        case "slow":
            return (head(), text("Hel"), silence())
        case other:
            raise AssertionError(f"the model knows no {other!r}")


_PIECE = (b"Hel", b"\r\n\r\nAAAA")
"""As it is, and as the first bytes of a body in base64."""


@asynccontextmanager
async def cutting(port: int) -> AsyncGenerator[int]:
    """A proxy that speaks HTTP/1.0 to the server, as some do unless told otherwise, and gives up when a piece of the
    answer has passed: what its caller has then ends cleanly, and is not complete."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", port)
        request = asyncio.create_task(_pass_on(reader, to_writer))
        passed = b""
        try:
            while not any(piece in passed for piece in _PIECE) and (part := await to_reader.read(65536)):
                passed += part
                writer.write(part)
                await writer.drain()
        finally:
            request.cancel()
            for end in (writer, to_writer):
                end.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while part := await reader.read(65536):
            old = part.startswith((b"POST", b"OPTIONS"))  # not a WebSocket's GET, and not HTTP/2
            writer.write(part.replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", 1) if old else part)
