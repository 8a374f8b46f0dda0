"""Requests as bytes and replies as bytes, for what an HTTP client would not send or would hide."""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus

from tests.matrix.server import Server

SAY = b'{"input":{"message":"hi"}}'


@dataclass(frozen=True, slots=True)
class RawReply:
    status: HTTPStatus
    headers: dict[str, str]
    body: bytes

    @classmethod
    def read(cls, came: bytes) -> "RawReply":
        head, separator, body = came.partition(b"\r\n\r\n")
        assert separator, f"no reply: {came!r}"
        first, *lines = head.decode("latin-1").split("\r\n")
        fields = [line.partition(": ") for line in lines]
        assert len({name for name, _, _ in fields}) == len(fields), f"a header came twice: {lines}"
        return cls(HTTPStatus(int(first.split()[1])), {name: value for name, _, value in fields}, body)


async def exchange(server: Server, *parts: bytes) -> bytes:
    """Everything that comes until the server closes. Each part leaves when something came for the one before it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    came = b""
    async with asyncio.timeout(10):
        for number, part in enumerate(parts):
            if number:
                came += await reader.read(1024)
            writer.write(part)
        came += await reader.read()
    writer.close()
    return came


async def ask(
    server: Server, method: str, target: str, *headers: str, body: bytes = b"", version: str = "1.1"
) -> RawReply:
    """One request on a connection of its own."""
    lines = [f"{method} {target} HTTP/{version}", "host: localhost", "connection: close", *headers]
    if body:
        lines.append(f"content-length: {len(body)}")
    return RawReply.read(await exchange(server, "\r\n".join([*lines, "", ""]).encode("latin-1") + body))
