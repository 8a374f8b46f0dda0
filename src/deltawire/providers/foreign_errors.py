"""What a provider's failure means: its HTTP status, headers and error object, translated once into a ``RunError``.

Pure. The message tells the provider's own words only where they came as a JSON error object, in one bounded line, with
our credentials blotted out; never its HTML.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from time import time
from typing import cast

import msgspec

from deltawire.domain.errors import Reason, RunError

_LONGEST_QUOTE = 300
_LONGEST_WAIT = 366 * 86400.0  # what asks for more has another unit, or jokes
_HTML = re.compile(r"<\s*(?:!doctype|html|head|body)\b", re.IGNORECASE)
_BUSY = frozenset({429, 503, 529})


Hint = Callable[[int, str | None], str | None]
"""The way out of a refusal, from its status and code, where the provider's own words do not show it."""


def no_hint(_status: int, _code: str | None) -> None:
    """For servers of which nothing is known."""


def from_status(
    provider: str,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    secrets: Sequence[str] = (),
    hint: Hint = no_hint,
) -> RunError:
    """The error for a reply whose status is not 200. ``body`` may be cut short."""
    code, words = _error_object(body)
    reason = _by_code(code, status) or _by_status(status)
    answered = f"the provider '{provider}' answered {status} {_phrase(status)}".rstrip()
    way_out = hint(status, code)
    if reason is Reason.upstream_auth:
        # Its words are left out: some providers quote the key.
        told = ["it does not accept our credentials", way_out or f"check the api_key of '{provider}'"]
    else:
        told = [quote(words or "", secrets).rstrip("."), way_out] if way_out else [quote(words or "", secrets)]
    said = "; ".join(filter(None, told))
    message = f"{answered}: {said}" if said else answered
    should_retry = headers.get("x-should-retry")
    # Only a provider that says "not now" has done no work; after a 500 nobody knows what was billed.
    retry_safe = should_retry == "true" or (
        status in _BUSY and should_retry != "false" and code != "insufficient_quota"
    )
    return RunError(reason, message, retry_after=retry_after(headers), retry_safe=retry_safe)


def from_stream(provider: str, code: str | None, words: str | None, secrets: Sequence[str] = ()) -> RunError:
    """The error for an error object inside a reply of status 200."""
    status = int(code) if code and code.isdecimal() and len(code) == 3 else 0
    reason = _by_code(code, status) or (_by_status(status) if status >= 400 else Reason.upstream_error)
    quoted, named = quote(words or "", secrets), quote(code or "", secrets)
    said = f": {quoted}" if quoted else f" ({named})" if named else ""
    return RunError(reason, f"the provider '{provider}' failed in the middle of its reply{said}")


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time) -> float | None:
    """Seconds, from ``retry-after-ms`` or ``retry-after`` (RFC 9110 §10.2.3: a number or a date). ``None`` if
    unusable."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            seconds = _seconds_until(value, now)
        if 0 <= seconds <= _LONGEST_WAIT:  # false for NaN
            return seconds
    return None


def quote(words: str, secrets: Sequence[str]) -> str:
    """Foreign words as one bounded line without our secrets. Of a web page nothing is left."""
    if _HTML.search(words):
        return ""
    for secret in secrets:
        words = words.replace(secret, "…")
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    return line if len(line) <= _LONGEST_QUOTE else line[: _LONGEST_QUOTE - 1] + "…"


def _seconds_until(date: str, now: Callable[[], float]) -> float:
    try:
        moment = parsedate_to_datetime(date)
        moment = moment.replace(tzinfo=moment.tzinfo or UTC)  # "-0000" comes out without one
        return max(0.0, moment.timestamp() - now())
    except (ValueError, OverflowError):
        return math.nan


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _by_status(status: int) -> Reason:
    match status:
        case 401 | 403:
            return Reason.upstream_auth
        case 429:
            return Reason.upstream_rate_limited
        case 408 | 409:
            return Reason.upstream_error
        case _ if 400 <= status < 500:
            return Reason.upstream_rejected
        case _ if status >= 500:
            return Reason.upstream_error
        case _:  # a redirect, or a 2xx that no completion has
            return Reason.upstream_invalid


def _by_code(code: str | None, status: int) -> Reason | None:
    """The codes that tell more than a status does. They come from many servers, hence the loose match."""
    if code is None or status in (401, 403):
        return None
    lowered = code.lower()
    if "content_filter" in lowered or "content_policy" in lowered:
        return Reason.content_filter
    if "rate_limit" in lowered or "quota" in lowered or "throttl" in lowered:
        return Reason.upstream_rate_limited
    if status == 0 and ("invalid_request" in lowered or "context_length" in lowered):
        return Reason.upstream_rejected
    if status == 0 and ("authentication" in lowered or "invalid_api_key" in lowered or "permission" in lowered):
        return Reason.upstream_auth
    return None


def _error_object(body: bytes) -> tuple[str | None, str | None]:
    """Code and message of ``{"error": {…}}``, of ``{"error": "…"}``, or of the object itself, as servers write it."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None, None
    if isinstance(value, dict):
        return code_and_words(cast("dict[str, object]", value).get("error", cast("object", value)))
    return None, None


def code_and_words(error: object) -> tuple[str | None, str | None]:
    """Code (or type) and message of an error object, which may as well be a bare string."""
    if isinstance(error, str):
        return None, error
    if not isinstance(error, dict):
        return None, None
    fields = cast("dict[str, object]", error)
    code = fields.get("code") or fields.get("type")
    message = fields.get("message") or fields.get("detail")
    words = message if isinstance(message, str) else None
    if filtered := _filtered(fields):
        words = f"{words or 'filtered'} ({', '.join(filtered)})"
    return (str(code) if isinstance(code, str | int) else None), words


def _filtered(error: dict[str, object]) -> list[str]:
    """The categories for which Azure filtered a prompt: what it sends and what it documents are spelled differently."""
    inner = _object(error.get("innererror") or error.get("inner_error"))
    results = _object(inner.get("content_filter_result") or inner.get("content_filter_results"))
    return [name for name, verdict in results.items() if _object(verdict).get("filtered") is True]


def _object(value: object) -> dict[str, object]:
    """Itself where it is a JSON object, else an empty one."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
