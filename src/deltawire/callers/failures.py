"""What did not work, in words that name the thing and the way out."""

import ssl
from collections.abc import Mapping
from contextlib import suppress

import msgspec
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from deltawire.callers.answer import CallFailedError
from deltawire.providers.http1.errors import CutError, Http1Error, NoReplyError, UnreachableError

_KEY = "name what it asks for, e.g. --header 'authorization: Bearer …'"
_BUSY = "what stands before the server has no answer from it"
_MEANING = {
    401: f"it asks who is calling: {_KEY}",
    403: f"it refuses the caller: {_KEY}",
    404: "nothing is served there: is that the whole URL, with the path under which deltawire is mounted?",
    405: "it takes no such call: is that a deltawire server?",
    407: f"a proxy asks who is calling: {_KEY}",
    502: _BUSY,
    503: _BUSY,
    504: f"{_BUSY} in time: raise its limit",
}


class _Problem(msgspec.Struct):
    reason: str
    detail: str


def from_status(status: int, headers: Mapping[str, str], body: bytes) -> CallFailedError:
    """Of a reply that is none of ours, or a problem document. ``headers`` have their names in lower case."""
    with suppress(msgspec.DecodeError, RecursionError):
        problem = msgspec.json.decode(body, type=_Problem)
        return CallFailedError(problem.reason, problem.detail)
    who = f" from {headers['server'][:80]}" if "server" in headers else ""
    if 300 <= status < 400:
        meaning = f"it points to {headers.get('location', 'another place')[:200]}: name that URL"
    else:
        meaning = _MEANING.get(status, "its reply is none of deltawire's")
    return CallFailedError(f"http_{status}", f"status {status}{who}: {meaning}")


def from_details(details: bytes) -> str | None:
    """The reason in a ``google.rpc.Status``, as RPC has it."""
    with suppress(DecodeError):
        for packed in Status.FromString(details).details:
            info = ErrorInfo()
            if packed.Unpack(info):
                return info.reason
    return None


def from_connection(error: Exception) -> CallFailedError:
    """Of a connection that did not come about, or did not last."""
    match error:
        case UnreachableError():
            cause = error.__cause__
            if isinstance(cause, ssl.SSLError):
                return CallFailedError("tls", _tls(cause))
            return CallFailedError("unreachable", f"it cannot be reached: {error}")
        case ssl.SSLError():
            return CallFailedError("tls", _tls(error))
        case NoReplyError():
            return CallFailedError("no_reply", "the connection was closed without a reply")
        case CutError():
            return CallFailedError("cut", f"the reply was cut: {error}")
        case Http1Error():
            return CallFailedError(
                "no_http",
                "what answers is no HTTP/1.1: is that the HTTP port, and http:// or https:// as it should be?",
            )
        case _:
            return CallFailedError("unreachable", f"it cannot be reached: {str(error) or type(error).__name__}")


def ended_early() -> CallFailedError:
    return CallFailedError("cut", "the stream ended without its last event: something on the way has cut it")


def not_ours(content_type: str, wanted: str) -> CallFailedError:
    return CallFailedError("not_deltawire", f"it answers with {content_type[:80]}, not {wanted}: is that deltawire?")


def _tls(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"its TLS certificate is not trusted ({error.verify_message}): "
            "for an authority of your own set SSL_CERT_FILE=FILE"
        )
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return "it does not speak TLS: write http:// instead of https://"
    return f"the TLS handshake failed ({(error.reason or 'no reason given').lower().replace('_', ' ')})"
