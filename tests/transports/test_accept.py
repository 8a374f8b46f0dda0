"""Which reply an ``Accept`` header asks for (RFC 9110 §12.5.1)."""

import pytest

from deltawire.transports.http.accept import negotiate

JSON, SSE, TEXT = OFFERED = ("application/json", "text/event-stream", "text/plain")


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, JSON),
        ("", JSON),
        ("*/*", JSON),
        ("text/*", SSE),
        ("text/plain", TEXT),
        ("TEXT/Plain", TEXT),
        ("text/event-stream, application/json", JSON),
        ("text/event-stream, application/json;q=0.9", SSE),
        ("text/event-stream;q=0.1, application/json;q=0.05", SSE),
        ("text/event-stream;q=0, */*", JSON),
        ("application/json;q=0, */*", SSE),
        ("application/json;q=0, text/*;q=0", None),
        ("*/*;q=0", None),
        ("*/*;q=0, text/plain;q=0.001", TEXT),
        ("text/event-stream, */*;q=0", SSE),
        ("image/png", None),
        ("image/png, */*;q=0.1", JSON),
        ("text/plain;charset=utf-8;q=1", TEXT),
        ("text/plain ; Q=0.5 , text/event-stream ; q=0.6", SSE),
        ("text/plain;q=nan, text/event-stream;q=0.1", SSE),
        ("text/plain;q=inf, text/event-stream;q=0.1", SSE),
        ("text/plain;q=2", None),
        ("text/plain;q=-1, application/json", JSON),
        ("text/plain;q=1e-3, application/json;q=0.001", JSON),
        (",,text/plain,,", TEXT),
        ("text", None),
        (";q=1", None),
    ],
)
def test_the_reply_that_suits_best(accept: str | None, chosen: str | None) -> None:
    assert negotiate(accept, OFFERED) == chosen
