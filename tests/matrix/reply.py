"""A reply as it came, compared with what the page says."""

import hashlib
import re
from dataclasses import dataclass
from uuid import UUID

from tests.matrix.cells import OPEN

_RUN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_CREATED = re.compile(rb'"created":(\d{10})\b')
_HEARTBEATS = {
    "sse": r"(?::\n)+",
    "ndjson": r"\n+",
    "chat_stream": r"(?::\n)+",
    "grpc": "",  # of HTTP/2, which no caller sees
    **dict.fromkeys(["grpc_web", "grpc_web_text", "connect", "connect_json"], r"(?:00 \{\}\n)+"),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """``head`` is the status line and the headers, or gRPC's metadata, each with a line end, without ``date``; empty
    where none came."""

    head: str
    body: bytes
    complete: bool
    shown: str | None = None
    """The body as the page writes it, where that is not as it came."""

    def written(self) -> str:
        """As the page writes replies."""
        separator = "\n" if self.head else ""
        return self.head + separator + self.content + ("" if self.complete else "✂")

    @property
    def content(self) -> str:
        return self.body.decode(errors="backslashreplace") if self.shown is None else self.shown

    @property
    def run_id(self) -> str | None:
        match = _RUN_ID.search(self.head) or _RUN_ID.search(self.content)
        return match and str(UUID(match[0]))

    def as_expected(self, expected: str, transport: str) -> str:
        """The page's words with what only the reply can tell: equal to ``written()`` where every byte is as it
        should be."""
        expected = expected.replace(OPEN["run_id"], self.run_id or "(a run id)")
        expected = expected.replace(OPEN["length"], str(len(self.body)))
        expected = expected.replace(OPEN["etag"], hashlib.sha256(self.body).hexdigest()[:32])
        if created := _CREATED.search(self.body):
            expected = expected.replace(OPEN["created"], created[1].decode())
        came = self.written()
        beats = re.escape(expected).replace(re.escape(OPEN["heartbeats"]), _HEARTBEATS.get(transport, ""))
        beats = beats.replace(re.escape(OPEN["wait"]), r"\d+")
        return came if re.fullmatch(beats, came) else expected
