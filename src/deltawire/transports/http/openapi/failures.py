"""For which reasons a call can fail, and the problems that tell so, as the document's responses."""

from collections.abc import Iterable

import msgspec

from deltawire.domain.errors import Reason
from deltawire.domain.events import Error
from deltawire.transports import codec
from deltawire.transports.http.openapi.components import Schema
from deltawire.transports.http.openapi.shared import Shared
from deltawire.transports.status import HTTP_STATUS

EXAMPLE_RUN = "01998ad7-7a2c-7d1e-9f3b-5c7e2a90b1d4"

_UPSTREAM = frozenset(
    {
        Reason.connect_timeout,
        Reason.first_token_timeout,
        Reason.idle_timeout,
        Reason.total_timeout,
        Reason.upstream_unreachable,
        Reason.upstream_error,
        Reason.upstream_truncated,
        Reason.upstream_invalid,
        Reason.upstream_auth,
        Reason.upstream_rate_limited,
        Reason.upstream_rejected,
        Reason.outcome_unknown,
        Reason.content_filter,
        Reason.answer_too_large,
        Reason.internal,
    }
)
_REQUEST = frozenset(
    {
        Reason.invalid_input,
        Reason.invalid_json,
        Reason.unknown_variant,
        Reason.unsupported_media,
        Reason.request_too_large,
        Reason.request_timeout,
        Reason.expectation_failed,
        Reason.overloaded,
        Reason.draining,
        Reason.forbidden,
    }
)
_STRICT = frozenset({Reason.refusal, Reason.output_truncated})

OF_READING = frozenset({Reason.forbidden, Reason.expectation_failed})
"""Of what only tells something."""


def of_run(*, typed: bool) -> frozenset[Reason]:
    """The reasons for which ``POST /v1/functions/NAME`` can fail with a status."""
    common = _REQUEST | _UPSTREAM | {Reason.not_acceptable}
    return common | _STRICT | {Reason.output_invalid} if typed else common


def of_invoke(*, any_typed: bool) -> frozenset[Reason]:
    common = _REQUEST | _UPSTREAM | _STRICT | {Reason.unknown_function}
    return common | {Reason.output_invalid} if any_typed else common


_WAITS = frozenset({429, 502, 503})
_PHRASES = {
    400: "The request cannot be run.",
    403: "Who calls is not allowed to.",
    404: "What the request names does not exist.",
    406: "No reply suits the Accept header.",
    408: "The body did not come in time.",
    413: "The body is too large.",
    415: "The body's type or its coding is not supported.",
    417: "The Expect header asks for what is not supported.",
    422: "The provider or the model declined.",
    429: "Too many calls for now.",
    500: "The server failed.",
    502: "The provider or its answer failed.",
    503: "The server is ending.",
    504: "A time limit is over.",
}


def responses(reasons: Iterable[Reason], shared: Shared) -> Schema:
    """One response a status, with the reasons that it stands for and an example of each."""
    by_status: dict[int, list[Reason]] = {}
    for reason in Reason:  # in the order of the closed list
        if reason in reasons:
            by_status.setdefault(HTTP_STATUS[reason], []).append(reason)
    return {str(status): _shared(status, by_status[status], shared) for status in sorted(by_status)}


def _shared(status: int, reasons: list[Reason], shared: Shared) -> Schema:
    response = _response(status, reasons, shared)
    name, number = f"Problem{status}", 1
    while shared.problems.setdefault(name, response) != response:
        number += 1
        name = f"Problem{status}No{number}"
    return {"$ref": f"#/components/responses/{name}"}


def _response(status: int, reasons: list[Reason], shared: Shared) -> Schema:
    told = ", ".join(f"`{reason}`" for reason in reasons)
    headers: Schema = {"deltawire-run-id": {"$ref": "#/components/headers/RunId"}}
    if status in _WAITS:
        headers["Retry-After"] = {"$ref": "#/components/headers/RetryAfter"}
    if Reason.unsupported_media in reasons:
        headers["Accept-Encoding"] = {"$ref": "#/components/headers/AcceptEncoding"}
    return {
        "description": f"{_PHRASES[status]} Reasons: {told}.",
        "headers": headers,
        "content": {
            "application/problem+json": {
                "schema": shared.problem,
                "examples": {reason.value: {"value": _example(reason)} for reason in reasons},
            }
        },
        "x-reasons": [reason.value for reason in reasons],
    }


def _example(reason: Reason) -> object:
    error = Error(
        code=reason.code,
        reason=reason,
        message="(what was wrong, and the way out)",
        run_id=EXAMPLE_RUN,
        partial=False,
    )
    return msgspec.json.decode(codec.problem(error))
