"""The HTTP transports, called with ``httpx``: an HTTP client that nobody of this project wrote."""

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.matrix.notation import Call, Script, Stop
from tests.matrix.reply import Reply
from tests.matrix.transports import ACCEPT, RPC_STREAMS, WHOLE
from tests.waits import LONGEST

_BEAT = {
    "sse": re.compile(rb"(?:^|\n):\n$"),
    "chat_stream": re.compile(rb"(?:^|\n):\n$"),
    "ndjson": re.compile(rb"(?:^|\n)\n$"),
    **dict.fromkeys(RPC_STREAMS, re.compile(rb"(?:^|\n)00 \{\}$")),
}
_STALL = 0.6
"""Seconds; longer than what the hurried server gives a body."""
_TIMEOUT = httpx.Timeout(LONGEST)
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the usual context reads all certificates of the machine


@dataclass(slots=True)
class _Reading:
    """What has come so far, and news of it."""

    head: str = ""
    body: bytearray = field(default_factory=bytearray)
    complete: bool = False
    socket: Any = None
    news: asyncio.Condition = field(default_factory=asyncio.Condition)


class HttpCaller:
    """Calls one transport of a server."""

    def __init__(self, transport: str, url: str) -> None:
        self.transport = transport
        self._url = url

    async def call(self, call: Call, script: Script | None = None) -> Reply:
        """Make the call, and be what the script waits for at its stops."""
        reading = _Reading()
        conductor = asyncio.create_task(self._conduct(script.stops if script else [], reading))
        try:
            async with asyncio.timeout(LONGEST):  # signs of life are no end
                await self._read(call, reading)
        finally:
            conductor.cancel()
            await asyncio.wait([conductor])
        return self.reply(reading.head, bytes(reading.body), complete=reading.complete)

    def reply(self, head: str, body: bytes, *, complete: bool) -> Reply:
        return Reply(head, body, complete)

    async def _read(self, call: Call, reading: _Reading) -> None:
        async def trace(name: str, about: dict[str, Any]) -> None:
            if name == "connection.connect_tcp.complete":
                reading.socket = about["return_value"].get_extra_info("socket")

        async with httpx.AsyncClient(verify=_NO_TLS, timeout=_TIMEOUT, trust_env=False) as client:
            request = self.request(call, trace)
            try:
                response = await client.send(request, stream=True)
                reading.head = _head(response)
                async for received in response.aiter_raw():
                    async with reading.news:
                        reading.body += received
                        reading.news.notify_all()
                reading.complete = True
            except (httpx.RemoteProtocolError, httpx.ReadError):
                return

    async def get(self, method: str, path: str) -> Reply:
        """A request that is no call of a function."""
        async with httpx.AsyncClient(verify=_NO_TLS, timeout=_TIMEOUT, trust_env=False) as client:
            response = await client.request(method, self._url + path)
            return Reply(_head(response), response.content, complete=True)

    def request(self, call: Call, trace: object = None) -> httpx.Request:
        headers = {"content-type": "application/json"}
        match self.transport:
            case "invoke":
                path, body = "/invoke", call.invoke_request()
            case "chat" | "chat_stream":
                path, body = "/v1/chat/completions", call.chat_request(stream=self.transport == "chat_stream")
            case _:
                path, body = f"/v1/functions/{call.function}", call.run_request()
                if call.accept != "missing":
                    headers["accept"] = ACCEPT[self.transport] + (";q=0" if call.accept == "q=0" else "")
        return self.post(call, path, body, {**headers, **call.headers}, trace)

    def post(self, call: Call, path: str, body: bytes, headers: dict[str, str], trace: object) -> httpx.Request:
        return httpx.Request(
            call.method,
            self._url + (call.path or path),
            content=_stalling(body) if call.stalls else _in_chunks(body) if call.chunked else body,
            headers=headers,
            extensions={"timeout": _TIMEOUT.as_dict(), **({"trace": trace} if trace else {})},
        )

    async def _conduct(self, stops: list[Stop], reading: _Reading) -> None:
        seen = 0
        for stop in stops:
            await stop.gate.reached()
            if stop.kind == "leave":
                reading.socket.shutdown(socket.SHUT_WR)
                continue
            async with reading.news:
                await reading.news.wait_for(
                    lambda stop=stop, seen=seen: self.has_seen(stop, self.shown(bytes(reading.body))[seen:])
                )
                seen = len(self.shown(bytes(reading.body)))
            stop.gate.open()

    def shown(self, body: bytes) -> bytes:
        """As much of the body as a reader of this transport has understood so far."""
        return body

    def has_seen(self, stop: Stop, news: bytes) -> bool:
        """Whether the caller has what the stop waits for. A transport that does not show it has nothing to wait for."""
        if stop.kind == "hold":
            return self.transport not in _BEAT or _BEAT[self.transport].search(news) is not None
        return self.transport in WHOLE or stop.shown_in(news, self.transport)


async def _in_chunks(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 100_000):
        yield body[start : start + 100_000]


async def _stalling(body: bytes) -> AsyncIterator[bytes]:
    yield body[:5]
    await asyncio.sleep(_STALL)  # it is time that is the subject, and the client reads nothing meanwhile
    yield body[5:]


def _head(response: httpx.Response) -> str:
    lines = [f"{response.http_version} {response.status_code} {response.reason_phrase}"]
    fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw]
    assert [name for name, _ in fields].count("date") == 1
    return "\n".join([*lines, *(f"{name}: {value}" for name, value in fields if name != "date"), ""])
