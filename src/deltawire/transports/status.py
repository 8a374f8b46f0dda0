"""What a reason is on each wire that has statuses of its own."""

from deltawire.domain.errors import Reason

HTTP_STATUS: dict[Reason, int] = {
    Reason.invalid_input: 400,
    Reason.invalid_json: 400,
    Reason.unknown_function: 404,
    Reason.unknown_path: 404,
    Reason.unknown_variant: 404,
    Reason.not_acceptable: 406,
    Reason.unsupported_media: 415,
    Reason.method_not_allowed: 405,
    Reason.request_too_large: 413,
    Reason.overloaded: 429,
    Reason.draining: 503,
    Reason.connect_timeout: 504,
    Reason.first_token_timeout: 504,
    Reason.idle_timeout: 504,
    Reason.total_timeout: 504,
    Reason.canceled: 499,
    Reason.unauthenticated: 401,
    Reason.forbidden: 403,
    Reason.upstream_unreachable: 502,
    Reason.upstream_error: 502,
    Reason.upstream_truncated: 502,
    Reason.upstream_invalid: 502,
    Reason.upstream_auth: 502,
    Reason.upstream_rate_limited: 429,
    Reason.upstream_rejected: 400,
    Reason.outcome_unknown: 502,
    Reason.content_filter: 422,
    Reason.refusal: 422,
    Reason.output_truncated: 502,
    Reason.output_invalid: 502,
    Reason.answer_too_large: 502,
    Reason.internal: 500,
}
"""499 is nobody's standard: nginx writes it into its log for a caller who left, and no caller ever sees it."""
