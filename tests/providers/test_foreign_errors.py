"""What a provider asks to wait, and what of its words is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltawire.domain.errors import Reason
from deltawire.providers.foreign_errors import from_status, from_stream, quote, retry_after

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": " 2.5 "}, 2.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "86400"}, 86400.0),
        ({"retry-after-ms": "300"}, 0.3),
        ({"retry-after-ms": "300", "retry-after": "1"}, 0.3),
        ({"retry-after-ms": "soon", "retry-after": "1"}, 1.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 15 Jan 2027 09:00:30 +0100"}, 30.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 -0000"}, 30.0),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e300"}, None),
        ({"retry-after": "9" * 5000}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": "Fri, 99 Jan 2027 08:00:30 GMT"}, None),
        ({"retry-after": "Fri, 15 Jan 9999999 08:00:30 GMT"}, None),
    ],
)
def test_every_form_of_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, lambda: NOW) == seconds


@given(st.text(max_size=60) | st.from_regex(r"\w{3}, \d+ \w{3} \d+ \d+:\d+:\d+ [+-]?\w+", fullmatch=True))
def test_no_retry_after_breaks_anything(value: str) -> None:
    seconds = retry_after({"retry-after": value}, lambda: NOW)
    assert seconds is None or seconds >= 0


@given(st.text(), st.lists(st.text(min_size=1, max_size=5), max_size=2))
def test_a_quote_is_one_bounded_printable_line_without_secrets(words: str, secrets: list[str]) -> None:
    quoted = quote(words, secrets)
    assert len(quoted) <= 300
    assert quoted.isprintable()
    assert quoted == quoted.strip()


def test_a_secret_that_the_bound_would_cut_is_blotted_first() -> None:
    assert "sk-secret" not in quote("x" * 295 + "sk-secret", ["sk-secret"])
    assert "sk-s" not in quote("x" * 295 + "sk-secret", ["sk-secret"])


@pytest.mark.parametrize("page", ["<html>", "a <!doctype html>", "<BODY class=x>", "x < html lang=en>"])
def test_nothing_is_quoted_of_a_page(page: str) -> None:
    assert quote(page, []) == ""


def test_other_angle_brackets_are_words() -> None:
    assert quote("max_tokens < headroom, <think>", []) == "max_tokens < headroom, <think>"


@given(st.integers(200, 999), st.binary(max_size=200))
def test_no_body_breaks_the_translation(status: int, body: bytes) -> None:
    error = from_status("up", status, {}, body)
    assert isinstance(error.reason, Reason)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (None, Reason.upstream_error),
        ("rate_limit_exceeded", Reason.upstream_rate_limited),
        ("ThrottlingException", Reason.upstream_rate_limited),
        ("429", Reason.upstream_rate_limited),
        ("503", Reason.upstream_error),
        ("200", Reason.upstream_error),
        ("context_length_exceeded", Reason.upstream_rejected),
        ("permission_error", Reason.upstream_auth),
        ("content_filter", Reason.content_filter),
    ],
)
def test_the_code_of_an_error_inside_a_reply_tells_its_reason(code: str | None, reason: Reason) -> None:
    assert from_stream("up", code, None).reason is reason
