"""A reply of HTTP/1.1 as it comes: bytes flow in, a ``Reply`` of the transport matrix flows out."""

from http import HTTPStatus

import httptools
from tests.matrix.reply import Reply


class ReplyReader:
    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._lines: list[str] = []
        self.begun = False
        self.complete = False
        self.keep_alive = False
        self.body = bytearray()

    def feed(self, data: bytes) -> None:
        """Raises httptools.HttpParserError when this is no HTTP."""
        self._parser.feed_data(data)

    def reply(self) -> Reply:
        status = self._parser.get_status_code() if self.begun else 0
        first = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"] if status else []
        return Reply("".join(line + "\n" for line in [*first, *self._lines]), bytes(self.body), self.complete)

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() != b"date":
            self._lines.append(f"{name.decode('latin-1')}: {value.decode('latin-1')}")

    def on_headers_complete(self) -> None:
        self.begun = True

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.complete = True
        self.keep_alive = self._parser.should_keep_alive()
