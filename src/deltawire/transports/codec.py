"""Events to bytes and bytes to requests, the same for every transport that carries JSON. Pure."""

import json
import re
from collections.abc import Callable, Mapping
from typing import TypeVar, cast, get_args

import msgspec
from msgspec import Raw, Struct

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Event, Finished, Refusal, Text
from deltawire.domain.run import RunRequest, RunSettings, RunTimeout
from deltawire.transports.status import HTTP_STATUS

Encode = Callable[[Event], bytes]

_encode = msgspec.json.Encoder().encode
_BOM = b"\xef\xbb\xbf"
_LONGEST_WORDS = 200
_HALF_A_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")


class InvokeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of ``/invoke``: a run request that names its function."""

    type: str
    input: Raw
    user: str | None = None
    variant: str | None = None
    settings: RunSettings = RunSettings()
    timeout: RunTimeout | None = None

    def run_request(self) -> RunRequest:
        return RunRequest(self.input, self.user, self.variant, self.settings, self.timeout)


_run_requests = msgspec.json.Decoder(RunRequest)
_invoke_requests = msgspec.json.Decoder(InvokeRequest)


def run_request(body: bytes) -> RunRequest:
    """Raises ``RunError``: invalid_json for what is no JSON, invalid_input for JSON of another shape."""
    return decode(_run_requests, body, '{"input": …}')


def invoke_request(body: bytes) -> InvokeRequest:
    """Raises ``RunError`` as ``run_request`` does."""
    return decode(_invoke_requests, body, '{"type": "…", "input": …}')


def sse(event: Event) -> bytes:
    """One server-sent event (HTML, §9.2): its type as ``event:``, its fields as one line of JSON."""
    if type(event) is Text:
        text = _encode(event.text)
        return b'event: text\ndata: {"text":%b}\n\n' % (text if text.isascii() else one_line(text))
    head, tag = _TAGS[type(event)]
    return head + one_line(_encode(event))[tag:] + b"\n\n"


def ndjson(event: Event) -> bytes:
    """One line of JSON, tagged with ``type``."""
    if type(event) is Text:
        return b'{"type":"text","text":' + json_line(event.text) + b"}\n"
    return one_line(_encode(event)) + b"\n"


def text(event: Event) -> bytes:
    """The answer's text as UTF-8, and nothing for any other event."""
    return event.text.encode() if isinstance(event, Text) else b""


def finished(event: Finished) -> bytes:
    """The body of a plain JSON reply."""
    return _encode(event)


class _Problem(Struct, omit_defaults=True, kw_only=True):
    type: str
    title: str
    status: int
    detail: str
    code: str
    reason: str
    run_id: str
    retry_after: float | None = None
    partial: bool | None = None


def problem(error: Error) -> bytes:
    """The error as RFC 9457 ``application/problem+json``, with our own members ``code``, ``reason``, ``run_id``,
    ``retry_after`` (seconds, where it is known) and ``partial``."""
    return _encode(
        _Problem(
            type="about:blank",
            title=error.reason.replace("_", " "),
            status=HTTP_STATUS[error.reason],
            detail=error.message,
            code=error.code,
            reason=error.reason,
            run_id=error.run_id,
            retry_after=None if error.retry_after is msgspec.UNSET else error.retry_after,
            partial=error.partial,
        )
    )


_T = TypeVar("_T")


def decode(decoder: "msgspec.json.Decoder[_T]", body: bytes, shape: str, *, what: str = "body") -> _T:
    """JSON of a caller's. Raises ``RunError`` as ``run_request`` does, in words that call the bytes ``what``."""
    body = body.removeprefix(_BOM)
    if not body.strip():
        raise RunError(Reason.invalid_json, f"the {what} is empty; send {shape}")
    try:
        body.decode()  # what is kept as raw JSON is not checked by the decoder
        return decoder.decode(body)
    except UnicodeDecodeError:
        raise RunError(Reason.invalid_json, f"the {what} is not UTF-8") from None
    except msgspec.ValidationError as error:
        raise RunError(
            Reason.invalid_input, f"the request does not have the shape {shape}: {readable(error)}"
        ) from None
    except (msgspec.DecodeError, RecursionError) as error:
        if _HALF_A_PAIR.search(body) and _is_json(body):
            # What the decoder says then is that the input was truncated.
            message = f"the {what} is not JSON: it holds half of a surrogate pair, which is no character"
            raise RunError(Reason.invalid_json, message) from None
        raise RunError(Reason.invalid_json, f"the {what} is not JSON: {readable(error)}") from None


def _is_json(body: bytes) -> bool:
    """Whether it is, to a reader who takes halves of surrogate pairs."""
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def readable(error: Exception) -> str:
    """The decoder's words, in the caller's terms; a field that is not known may have a name of any length."""
    words = str(error).replace("`$.", "`")
    return words if len(words) <= _LONGEST_WORDS else words[: _LONGEST_WORDS - 1] + "…"


def json_line(value: str) -> bytes:
    """A string as JSON that no reader of lines cuts."""
    encoded = _encode(value)
    return encoded if value.isascii() else one_line(encoded)


def one_line(encoded: bytes) -> bytes:
    """Escape what some readers take for the end of a line though no standard says so: U+2028, U+2029 and U+0085."""
    if encoded.isascii():
        return encoded
    return (
        encoded.replace(b"\xe2\x80\xa8", b"\\u2028")
        .replace(b"\xe2\x80\xa9", b"\\u2029")
        .replace(b"\xc2\x85", b"\\u0085")
    )


def well_formed(value: object) -> object:
    """The value with every lone surrogate as U+FFFD: a docstring may hold what no UTF-8 can carry."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case Mapping():
            members = cast("Mapping[object, object]", value)
            return {well_formed(key): well_formed(each) for key, each in members.items()}
        case list() | tuple():
            return [well_formed(each) for each in cast("list[object]", value)]
        case _:
            return value


def _tag(event: type[Event]) -> tuple[bytes, int]:
    """What an event begins with instead of its JSON's first bytes, and how many those are: msgspec writes the tag
    first."""
    name = str(event.__struct_config__.tag).encode()
    return b"event: " + name + b"\ndata: {", len(b'{"type":"') + len(name) + len(b'",')


_TAGS = {event: _tag(event) for event in (*get_args(Event), Refusal)}
