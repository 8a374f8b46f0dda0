"""A URL of the settings, as reports and complaints show it."""

import pytest

from deltawire.providers.shown_url import shown_url


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("https://r.test/openai/v1", "https://r.test/openai/v1"),
        (" https://r.test?api-version=preview&key=secret&b= ", "https://r.test?api-version=preview&key=…&b=…"),
        ("https://r.test/?secret", "https://r.test/?…"),
        ("https://r.test/?a=1&secret#secret", "https://r.test/?a=…&…#…"),
        ("https://r.test/#secret", "https://r.test/#…"),
        ("https://me:secret@r.test/v1", "https://…@r.test/v1"),
        ("https://me:se/secret@r.test/v1", "https://…@r.test/v1"),
        ("https://me:se@secret?secret#@r.test/v1", "https://…@r.test/v1"),
        ("me:secret@r.test/v1", "…@r.test/v1"),
        ("https://sk-secret@[::1/v1", "https://…@[::1/v1"),
        ("", ""),
        (f"https://{'a' * 300}", f"https://{'a' * 192}"),
    ],
)
def test_what_may_be_a_secret_is_left_out(written: str, shown: str) -> None:
    assert shown_url(written) == shown
    assert "secret" not in shown
