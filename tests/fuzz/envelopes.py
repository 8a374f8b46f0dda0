"""Any body to the envelopes of Connect and gRPC-Web: its one message within the limit, or the caller's fault told."""

import base64
import gzip
from contextlib import suppress

from deltawire.domain.errors import Reason, RunError
from deltawire.transports.http.rpc.envelopes import envelope, from_base64, only_message
from tests.fuzz.target import Target, cut

LIMIT = 1000
FAULTS = {Reason.invalid_input, Reason.unsupported_media, Reason.request_too_large}


def check(given: bytes) -> None:
    stream, ways = cut(given)
    for coding in ("", "gzip"):
        _message(stream, coding)
        assert _message(envelope(0, stream), coding) == stream
    _message(envelope(1, stream), "gzip")
    with suppress(RunError):
        from_base64(stream)
    for parts in ways:
        assert from_base64(b"".join(map(base64.b64encode, parts))) == stream
        if len(stream) <= LIMIT and len(parts) < 9:
            members = b"".join(gzip.compress(part, 1) for part in parts)
            assert _message(envelope(1, members), "gzip") == stream


def _message(body: bytes, coding: str) -> bytes | None:
    try:
        message = only_message(body, coding, LIMIT)
    except RunError as error:
        if error.reason not in FAULTS:
            raise
        return None
    assert len(message) <= max(LIMIT, len(body))  # what is not compressed has had its limit as a body
    return message


TARGET = Target(
    check,
    (
        b"\0" + envelope(0, b"\x0a\x03say"),
        b"\2\3\4" + envelope(1, gzip.compress(b"a" * 50, mtime=0)),
        b"\0" + gzip.compress(b"a" * 2000, mtime=0),
        b"\0AAEC" + base64.b64encode(b"ab"),
    ),
    (gzip.compress(b"", mtime=0), b"\x1f\x8b\x08", b"\0\0\0\0", b"==", b"="),
)
