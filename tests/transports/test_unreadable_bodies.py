"""Bytes to requests: what is said of a body that is none."""

import pytest

from deltawire.domain.errors import Reason, RunError
from deltawire.transports import codec


def refused(body: bytes) -> tuple[Reason, str]:
    with pytest.raises(RunError) as error:
        codec.run_request(body)
    return error.value.reason, error.value.message


def test_a_field_that_is_not_known_is_quoted_up_to_a_length() -> None:
    reason, message = refused(b'{"input":{},"%s":1}' % (b"k" * 900_000))
    assert reason is Reason.invalid_input
    assert "Object contains unknown field `kkkk" in message
    assert len(message) < 300


@pytest.mark.parametrize("half", [rb"\ud83d", rb"\uDE42", rb"a\ud83db"])
def test_half_a_character_is_called_what_it_is(half: bytes) -> None:
    reason, message = refused(b'{"input":{"message":"%s"}}' % half)
    assert reason is Reason.invalid_json
    assert message == "the body is not JSON: it holds half of a surrogate pair, which is no character"


def test_a_body_that_is_cut_behind_half_a_character_is_cut() -> None:
    assert refused(rb'{"input":{"message":"\ud83d')[1] == "the body is not JSON: Input data was truncated"
