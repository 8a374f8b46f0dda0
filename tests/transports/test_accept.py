"""Which reply a caller gets for what its Accept header says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltawire.transports.http.accept import negotiate

JSON, SSE, NDJSON, TEXT = "application/json", "text/event-stream", "application/x-ndjson", "text/plain"
OFFERED = (JSON, SSE, NDJSON, TEXT)


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, JSON),
        ("", JSON),
        ("  ", JSON),
        ("*/*", JSON),
        ("*", JSON),
        ("text/html, image/gif, *; q=.2", JSON),
        ("application/*", JSON),
        ("text/*", SSE),
        (SSE, SSE),
        ("TEXT/Event-Stream", SSE),
        ("text/event-stream; charset=utf-8", SSE),
        ("text/event-stream, application/json", JSON),
        ("text/event-stream, application/json;q=0.9", SSE),
        ("application/json;q=0.5, text/plain;q=0.6", TEXT),
        ("*/*;q=0.1, application/x-ndjson", NDJSON),
        ("*/*, application/json;q=0", SSE),
        ("text/*, text/event-stream;q=0", TEXT),
        ("text/event-stream, */*;q=0", SSE),
        ("application/json;q=0, */*;q=0", None),
        ("image/png", None),
        ("*/*;q=0", None),
        ("text/event-stream;q=nonsense", None),
        ("text/event-stream;q=nan", None),
        ("text/event-stream;q=inf", SSE),
        ("text/event-stream;q=-1", None),
        ("text/event-stream ; q = 0.5", SSE),
        (",,text/plain,,", TEXT),
        (",", None),
        ("nonsense", None),
        ("/", None),
        ("text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8", JSON),
    ],
)
def test_the_best_offer_is_chosen(accept: str | None, chosen: str | None) -> None:
    assert negotiate(accept, OFFERED) == chosen


@given(st.text(st.characters(max_codepoint=255), max_size=80))
def test_no_header_breaks_it(accept: str) -> None:
    assert negotiate(accept, OFFERED) in (*OFFERED, None)
