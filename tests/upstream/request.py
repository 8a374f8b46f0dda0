"""HTTP/1.1 requests from bytes: socket reads flow in, whole requests flow out."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httptools


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came. Header names are in lower case, equal names joined by ``", "``."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int
    """Which TCP connection brought it, counted from 1 in the order of their acceptance."""
    keep_alive: bool

    @property
    def json(self) -> dict[str, Any]:
        """The body as a JSON object."""
        return json.loads(self.body)


class RequestReader:
    """Feeds bytes to httptools and hands over each request when its last byte is there."""

    def __init__(self, connection: int, deliver: Callable[[Request], None]) -> None:
        self._connection = connection
        self._deliver = deliver
        self._parser = httptools.HttpRequestParser(self)
        self._path = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._body = bytearray()

    def feed(self, data: bytes) -> None:
        """Raises httptools.HttpParserError when this is no HTTP."""
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._path = b""
        self._headers = []
        self._body = bytearray()

    def on_url(self, url: bytes) -> None:
        self._path += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        headers: dict[str, str] = {}
        for name, value in self._headers:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
        self._deliver(
            Request(
                method=self._parser.get_method().decode("ascii"),
                path=self._path.decode("latin-1"),
                headers=headers,
                body=bytes(self._body),
                connection=self._connection,
                keep_alive=self._parser.should_keep_alive(),
            )
        )
