"""Bodies of replies to what they hold: one reader a wire. Pure.

In: what one network read brought. Out: how many pieces of an answer it completed.
"""

import base64
from collections.abc import Callable
from typing import Annotated, Protocol
from urllib.parse import unquote

import msgspec

from deltawire.callers import failures
from deltawire.callers.answer import CallFailedError
from deltawire.providers.sse_reader import SseReader
from deltawire.v1 import functions_pb2 as pb

_LONGEST = 64 * 1024 * 1024
"""Bytes of one event, or of a document."""
_HEAD = 5
_CONNECT_END = 2
_TRAILERS = 0x80


class Reader(Protocol):
    """Of one reply."""

    @property
    def over(self) -> bool:
        """Whether the answer's end has come."""
        ...

    @property
    def tokens(self) -> int | None: ...

    def feed(self, data: bytes) -> int:
        """Raises ``CallFailedError`` where the answer ends in an error."""
        ...

    def end(self) -> None:
        """The body is complete. Raises ``CallFailedError`` where the answer is not."""
        ...


class _Usage(msgspec.Struct):
    output_tokens: Annotated[int, msgspec.Meta(ge=0)]


class _Event(msgspec.Struct):
    """Any event of ours, whatever names its kind: its fields do."""

    text: str | None = None
    finish_reason: str | None = None
    usage: _Usage | None = None
    reason: str | None = None
    message: str = ""


_events = msgspec.json.Decoder(_Event)


class EventReader:
    """Events in JSON; what cuts them out of the bytes is for those who inherit."""

    def __init__(self) -> None:
        self.over = False
        self.tokens: int | None = None

    def event(self, data: bytes) -> int:
        try:
            event = _events.decode(data)
        except (msgspec.DecodeError, RecursionError):
            raise CallFailedError("not_deltawire", "an event of the stream is none of deltawire's") from None
        if event.reason is not None:
            self.over = True
            raise CallFailedError(event.reason, event.message)
        if event.finish_reason is not None:
            self.over = True
            self.tokens = None if event.usage is None else event.usage.output_tokens
        return event.text is not None

    def end(self) -> None:
        if not self.over:
            raise failures.ended_early()


class Sse(EventReader):
    def __init__(self) -> None:
        super().__init__()
        self._reader = SseReader(_LONGEST)

    def feed(self, data: bytes) -> int:
        pieces = sum(map(self.event, self._reader.feed(data)))
        if self._reader.overflowed:
            raise _too_long()
        return pieces


class Ndjson(EventReader):
    def __init__(self) -> None:
        super().__init__()
        self._begun = bytearray()

    def feed(self, data: bytes) -> int:
        _collect(self._begun, data)
        if b"\n" not in data:
            return 0
        *lines, begun = bytes(self._begun).split(b"\n")
        self._begun = bytearray(begun)
        return sum(self.event(line) for line in lines if line.strip())


class Text:
    """The answer's text alone: each read is taken for a piece. A cut is seen by the connection."""

    tokens = None

    def __init__(self) -> None:
        self.over = False

    def feed(self, data: bytes) -> int:  # noqa: ARG002 (nothing in it tells where a piece ends)
        return 1

    def end(self) -> None:
        self.over = True


class Whole(EventReader):
    """A document that is the ``finished`` event."""

    def __init__(self) -> None:
        super().__init__()
        self._document = bytearray()

    def feed(self, data: bytes) -> int:
        _collect(self._document, data)
        return 0

    def end(self) -> None:
        self.event(bytes(self._document))
        super().end()


class Bare:
    """A document of the function's own shape."""

    tokens = None

    def __init__(self) -> None:
        self.over = False
        self._document = bytearray()

    def feed(self, data: bytes) -> int:
        _collect(self._document, data)
        return 0

    def end(self) -> None:
        try:
            msgspec.json.decode(self._document)
        except (msgspec.DecodeError, RecursionError):
            raise CallFailedError("not_deltawire", "its reply is no JSON: is that deltawire?") from None
        self.over = True


class _Enveloped:
    """Protobuf messages in envelopes. ``end_of`` reads the envelope that ends the stream; an error in it is raised."""

    def __init__(self, end_of: Callable[[bytes], None]) -> None:
        self.over = False
        self.tokens: int | None = None
        self._end_of = end_of
        self._begun = bytearray()

    def feed(self, data: bytes) -> int:
        begun = self._begun
        _collect(begun, data)
        at = pieces = 0
        while len(begun) >= at + _HEAD:
            end = at + _HEAD + int.from_bytes(begun[at + 1 : at + _HEAD])
            if len(begun) < end:
                break
            if begun[at]:
                self.over = True
                self._end_of(bytes(begun[at + _HEAD : end]))
            else:
                pieces += self._message(bytes(begun[at + _HEAD : end]))
            at = end
        del begun[:at]
        return pieces

    def end(self) -> None:
        if not self.over:
            raise failures.ended_early()

    def _message(self, encoded: bytes) -> int:
        piece, self.tokens = read_event(pb.Event.FromString(encoded))
        return piece


def _collect(begun: bytearray, data: bytes) -> None:
    """Raises ``CallFailedError`` where that has no end."""
    begun += data
    if len(begun) > _LONGEST:
        raise _too_long()


def _too_long() -> CallFailedError:
    message = f"it sends more than {_LONGEST // (1024 * 1024)} MiB that never become an event: is that deltawire?"
    return CallFailedError("not_deltawire", message)


def read_event(event: pb.Event) -> tuple[bool, int | None]:
    """Whether it is a piece, and the tokens that it tells."""
    kind = event.WhichOneof("event")
    if kind == "finished" and event.finished.HasField("usage"):
        return False, event.finished.usage.output_tokens
    return kind in ("text", "reasoning"), None


def connect() -> Reader:
    return _Enveloped(_connect_end)


def grpc_web() -> Reader:
    return _Enveloped(_trailers)


class _Debug(msgspec.Struct):
    reason: str = ""


class _Detail(msgspec.Struct):
    debug: _Debug = msgspec.field(default_factory=_Debug)


class _ConnectError(msgspec.Struct):
    code: str
    message: str = ""
    details: list[_Detail] = []


class _ConnectEnd(msgspec.Struct):
    error: _ConnectError | None = None


def _connect_end(message: bytes) -> None:
    error = msgspec.json.decode(message, type=_ConnectEnd).error
    if error is not None:
        told = [detail.debug.reason for detail in error.details if detail.debug.reason]
        raise CallFailedError(told[0] if told else error.code, error.message)


def _trailers(message: bytes) -> None:
    """gRPC-Web's: written like headers."""
    lines = [line.partition(":") for line in message.decode("latin-1").split("\r\n")]
    check_grpc_status({name.strip().lower(): value.strip() for name, _, value in lines})


def check_grpc_status(headers: dict[str, str]) -> None:
    """Raises ``CallFailedError`` where they tell of a failure."""
    if headers.get("grpc-status", "0") != "0":
        details = headers.get("grpc-status-details-bin", "")
        reason = failures.from_details(base64.b64decode(details + "=" * (-len(details) % 4)))
        raise CallFailedError(reason or f"grpc_{headers['grpc-status']}", unquote(headers.get("grpc-message", "")))
