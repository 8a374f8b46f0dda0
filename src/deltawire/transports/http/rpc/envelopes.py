"""Messages in envelopes, as Connect's streams and gRPC-Web have them: a byte of flags, the length in four, the message.

In: a request's body. Out: its one message. In: events. Out: the bytes of a streamed reply. Pure.
"""

import base64
import binascii
import re
import zlib
from collections.abc import Callable
from struct import Struct

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Event, Finished, Text
from deltawire.transports.codec import Encode
from deltawire.transports.http.request import too_large

_HEAD = Struct(">BI")
_COMPRESSED = 1
_AS_GZIP = 16 + zlib.MAX_WBITS
_PIECE = 4096
"""Bytes that are inflated at once. Each member leaves a copy of what follows it, so this must not be the message."""
_PADDED = re.compile(rb"[^=]+=*|=+")

_pack = _HEAD.pack


def envelope(flags: int, message: bytes) -> bytes:
    return _pack(flags, len(message)) + message


def encoder(message: Encode, end: Callable[[Error | None], bytes]) -> Encode:
    """Events to envelopes. ``message`` makes nothing of an event that is not told. ``end`` is what ends the stream,
    after a failure or (``None``) after the last message."""
    good_end = end(None)

    def encode(event: Event) -> bytes:
        if isinstance(event, Error):
            return end(event)
        body = message(event)
        framed = _pack(0, len(body)) + body if body else b""
        if type(event) is Text:
            return framed
        return framed + good_end if isinstance(event, Finished) else framed

    return encode


def only_message(body: bytes, coding: str, limit: int) -> bytes:
    """The one message of a request. ``coding`` is how its header says it is compressed: "", ``identity``, ``gzip``.
    ``RunError``: invalid_input, unsupported_media, request_too_large over ``limit`` bytes when inflated."""
    if coding not in ("", "identity", "gzip"):
        raise RunError(
            Reason.unsupported_media, f"messages compressed with '{coding[:80]}' are not read; send gzip or identity"
        )
    if len(body) < _HEAD.size:
        raise _invalid("it ends within an envelope" if body else "it holds no message; send one")
    flags, length = _HEAD.unpack_from(body)
    message = body[_HEAD.size :]
    if len(message) < length:
        raise _invalid(f"it ends within an envelope: {len(message)} of {length} bytes came")
    if len(message) > length:
        raise _invalid("it holds more than one message; send one")
    if flags & ~_COMPRESSED:
        raise _invalid(f"its envelope has flags that are not known ({flags:#04x})")
    if not flags or not message:
        return message
    if coding != "gzip":
        raise _invalid("its message is compressed, and no header says how")
    return _gunzip(message, limit)


def from_base64(body: bytes) -> bytes:
    """Base64 that may be put together of several parts, each with its padding. Raises ``RunError`` (invalid_input)."""
    try:
        return b"".join(base64.b64decode(part, validate=True) for part in _PADDED.findall(body))
    except binascii.Error:
        raise _invalid("it is not base64") from None


def _gunzip(message: bytes, limit: int) -> bytes:
    inflated = bytearray()
    at = 0
    while at < len(message):  # several members may follow each other (RFC 1952 §2.2)
        member = zlib.decompressobj(_AS_GZIP)
        while not member.eof:
            piece = message[at : at + _PIECE]
            if not piece:
                raise _invalid("its message is not gzip: it ends too early")
            try:
                inflated += member.decompress(piece, limit + 1 - len(inflated))
            except zlib.error:
                raise _invalid("its message is not gzip: the bytes are damaged") from None
            if len(inflated) > limit:
                raise too_large(limit)
            at += len(piece) - len(member.unused_data)
    return bytes(inflated)


def _invalid(why: str) -> RunError:
    return RunError(Reason.invalid_input, f"the request's body cannot be read: {why}")
