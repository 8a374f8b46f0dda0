"""A run request, and the deadline that its caller has."""

import pytest
from msgspec import Raw

from deltawire.domain.run import RunRequest


@pytest.mark.parametrize(
    ("own", "deadline", "joined"),
    [(None, None, None), (None, 2, 2), (5, None, 5), (5, 2, 2), (1, 2, 1), (None, 0, 0.001), (5, 1e-9, 0.001)],
)
def test_the_shorter_of_both_limits_counts(own: float | None, deadline: float | None, joined: float | None) -> None:
    assert RunRequest(Raw(b"{}"), timeout=own).within(deadline).timeout == joined
