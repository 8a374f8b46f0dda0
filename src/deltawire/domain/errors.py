"""The closed list of reasons for which a run can fail, and the one exception that carries them.

Each reason fixes its canonical code and says whether the same request may succeed when it is sent again.
What a reason looks like on a wire (HTTP status, gRPC status) is decided in ``transports/status.py``.
"""

from enum import StrEnum
from typing import NamedTuple


class Code(StrEnum):
    """The canonical gRPC status codes that an error can have, in Connect's spelling."""

    canceled = "canceled"
    unknown = "unknown"
    invalid_argument = "invalid_argument"
    deadline_exceeded = "deadline_exceeded"
    not_found = "not_found"
    already_exists = "already_exists"
    permission_denied = "permission_denied"
    resource_exhausted = "resource_exhausted"
    failed_precondition = "failed_precondition"
    aborted = "aborted"
    out_of_range = "out_of_range"
    unimplemented = "unimplemented"
    internal = "internal"
    unavailable = "unavailable"
    data_loss = "data_loss"
    unauthenticated = "unauthenticated"


class _Meaning(NamedTuple):
    code: Code
    retry_may_help: bool


class Reason(StrEnum):
    """Why a run failed. The list is closed: a caller may switch over it."""

    invalid_input = "invalid_input"
    invalid_json = "invalid_json"
    unknown_function = "unknown_function"
    unknown_path = "unknown_path"
    unknown_variant = "unknown_variant"
    duplicate_id = "duplicate_id"
    not_acceptable = "not_acceptable"
    unsupported_media = "unsupported_media"
    upgrade_required = "upgrade_required"
    method_not_allowed = "method_not_allowed"
    request_too_large = "request_too_large"
    request_timeout = "request_timeout"
    expectation_failed = "expectation_failed"
    overloaded = "overloaded"
    draining = "draining"
    connect_timeout = "connect_timeout"
    first_token_timeout = "first_token_timeout"
    idle_timeout = "idle_timeout"
    total_timeout = "total_timeout"
    canceled = "canceled"
    unauthenticated = "unauthenticated"
    forbidden = "forbidden"
    upstream_unreachable = "upstream_unreachable"
    upstream_error = "upstream_error"
    upstream_truncated = "upstream_truncated"
    upstream_invalid = "upstream_invalid"
    upstream_auth = "upstream_auth"
    upstream_rate_limited = "upstream_rate_limited"
    upstream_rejected = "upstream_rejected"
    outcome_unknown = "outcome_unknown"
    content_filter = "content_filter"
    refusal = "refusal"
    output_truncated = "output_truncated"
    output_invalid = "output_invalid"
    answer_too_large = "answer_too_large"
    internal = "internal"

    @property
    def code(self) -> Code:
        return _MEANINGS[self].code

    @property
    def retry_may_help(self) -> bool:
        """Whether the same request may succeed later. Says nothing about whether it was already billed."""
        return _MEANINGS[self].retry_may_help


_MEANINGS: dict[Reason, _Meaning] = {
    Reason.invalid_input: _Meaning(Code.invalid_argument, False),
    Reason.invalid_json: _Meaning(Code.invalid_argument, False),
    Reason.unknown_function: _Meaning(Code.not_found, False),
    Reason.unknown_path: _Meaning(Code.not_found, False),
    Reason.unknown_variant: _Meaning(Code.not_found, False),
    Reason.duplicate_id: _Meaning(Code.already_exists, False),
    Reason.not_acceptable: _Meaning(Code.invalid_argument, False),
    Reason.unsupported_media: _Meaning(Code.invalid_argument, False),
    Reason.upgrade_required: _Meaning(Code.unimplemented, False),
    Reason.method_not_allowed: _Meaning(Code.unimplemented, False),
    Reason.request_too_large: _Meaning(Code.resource_exhausted, False),
    Reason.request_timeout: _Meaning(Code.deadline_exceeded, True),
    Reason.expectation_failed: _Meaning(Code.unimplemented, False),
    Reason.overloaded: _Meaning(Code.resource_exhausted, True),
    Reason.draining: _Meaning(Code.unavailable, True),
    Reason.connect_timeout: _Meaning(Code.deadline_exceeded, True),
    Reason.first_token_timeout: _Meaning(Code.deadline_exceeded, True),
    Reason.idle_timeout: _Meaning(Code.deadline_exceeded, True),
    Reason.total_timeout: _Meaning(Code.deadline_exceeded, True),
    Reason.canceled: _Meaning(Code.canceled, True),
    Reason.unauthenticated: _Meaning(Code.unauthenticated, False),
    Reason.forbidden: _Meaning(Code.permission_denied, False),
    Reason.upstream_unreachable: _Meaning(Code.unavailable, True),
    Reason.upstream_error: _Meaning(Code.unavailable, True),
    Reason.upstream_truncated: _Meaning(Code.unavailable, True),
    Reason.upstream_invalid: _Meaning(Code.unavailable, True),
    Reason.upstream_auth: _Meaning(Code.internal, False),
    Reason.upstream_rate_limited: _Meaning(Code.resource_exhausted, True),
    Reason.upstream_rejected: _Meaning(Code.invalid_argument, False),
    Reason.outcome_unknown: _Meaning(Code.aborted, True),
    Reason.content_filter: _Meaning(Code.failed_precondition, False),
    Reason.refusal: _Meaning(Code.failed_precondition, False),
    Reason.output_truncated: _Meaning(Code.internal, False),
    Reason.output_invalid: _Meaning(Code.internal, True),
    Reason.answer_too_large: _Meaning(Code.resource_exhausted, False),
    Reason.internal: _Meaning(Code.internal, False),
}


class RunError(Exception):
    """A run that failed, with what its caller is told.

    ``retry_after`` is in seconds. ``message`` says what was wrong and the way out, for the caller to read: it holds no
    secret and none of the upstream's markup. ``retry_safe`` is true where no work can have started at the provider, or
    where the provider itself said that the call may be sent again: only then does the engine try again by itself.
    """

    def __init__(
        self, reason: Reason, message: str, *, retry_after: float | None = None, retry_safe: bool = False
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.retry_safe = retry_safe


class DeclarationError(Exception):
    """A function, a model name or a setting that cannot work, found before the first call."""
