"""The closed list of reasons."""

import pytest

from deltawire.domain.errors import Code, Reason, RunError

_CODES = {
    "invalid_input invalid_json": "invalid_argument",
    "not_acceptable unsupported_media upstream_rejected": "invalid_argument",
    "unknown_function unknown_path unknown_variant": "not_found",
    "method_not_allowed upgrade_required expectation_failed": "unimplemented",
    "duplicate_id": "already_exists",
    "request_too_large overloaded upstream_rate_limited answer_too_large": "resource_exhausted",
    "draining upstream_unreachable upstream_error upstream_truncated upstream_invalid": "unavailable",
    "request_timeout connect_timeout first_token_timeout idle_timeout total_timeout": "deadline_exceeded",
    "canceled": "canceled",
    "unauthenticated": "unauthenticated",
    "forbidden": "permission_denied",
    "outcome_unknown": "aborted",
    "content_filter refusal": "failed_precondition",
    "upstream_auth output_truncated output_invalid internal": "internal",
}


def test_each_reason_has_the_code_of_the_contract() -> None:
    expected = {Reason(reason): Code(code) for reasons, code in _CODES.items() for reason in reasons.split()}
    assert {reason: reason.code for reason in Reason} == expected


@pytest.mark.parametrize("reason", [Reason.invalid_input, Reason.upstream_auth, Reason.refusal, Reason.internal])
def test_a_request_that_fails_the_same_way_again_is_not_worth_a_retry(reason: Reason) -> None:
    assert not reason.retry_may_help


@pytest.mark.parametrize("reason", [Reason.overloaded, Reason.draining, Reason.upstream_error, Reason.idle_timeout])
def test_a_passing_trouble_is_worth_a_retry(reason: Reason) -> None:
    assert reason.retry_may_help


def test_the_codes_are_the_sixteen_of_grpc_but_ok() -> None:
    assert len(Code) == 16
    assert all(code.value == code.name for code in Code)


def test_an_error_carries_its_message_and_by_itself_allows_no_second_try() -> None:
    error = RunError(Reason.upstream_rate_limited, "try later", retry_after=1.5)
    assert (str(error), error.message, error.retry_after) == ("try later", "try later", 1.5)
    assert not error.retry_safe
