"""Requests in envelopes to messages, deadlines to seconds: what is read, and what is refused."""

import base64
import gzip
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltawire.domain.errors import Reason, RunError
from deltawire.transports.http.rpc.deadlines import connect_timeout, grpc_timeout
from deltawire.transports.http.rpc.envelopes import envelope, from_base64, only_message

LIMIT = 1000


def refused(body: bytes, coding: str = "") -> tuple[Reason, str]:
    with pytest.raises(RunError) as error:
        only_message(body, coding, LIMIT)
    return error.value.reason, error.value.message.removeprefix("the request's body cannot be read: ")


@given(st.binary(max_size=LIMIT), st.sampled_from(["", "identity", "gzip"]))
def test_a_message_is_what_its_envelope_holds(message: bytes, coding: str) -> None:
    assert only_message(envelope(0, message), coding, LIMIT) == message


@given(st.binary(max_size=LIMIT), st.integers(0, LIMIT))
def test_a_message_may_be_gzip_of_several_members(message: bytes, at: int) -> None:
    compressed = gzip.compress(message[:at]) + gzip.compress(message[at:])
    assert only_message(envelope(1, compressed), "gzip", LIMIT) == message


def test_nothing_that_is_compressed_is_nothing() -> None:
    assert only_message(envelope(1, b""), "gzip", LIMIT) == b""


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "it holds no message; send one"),
        (b"\0\0\0", "it ends within an envelope"),
        (envelope(0, b"abc")[:-1], "it ends within an envelope: 2 of 3 bytes came"),
        (b"\0\xff\xff\xff\xff", "it ends within an envelope: 0 of 4294967295 bytes came"),
        (envelope(0, b"a") * 2, "it holds more than one message; send one"),
        (envelope(0, b"a") + b"\0", "it holds more than one message; send one"),
        (envelope(2, b"{}"), "its envelope has flags that are not known (0x02)"),
        (envelope(0x80, b""), "its envelope has flags that are not known (0x80)"),
        (envelope(1, b"a"), "its message is compressed, and no header says how"),
    ],
)
def test_a_body_that_is_not_one_message_is_refused(body: bytes, why: str) -> None:
    assert refused(body) == (Reason.invalid_input, why)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"abc", "its message is not gzip: the bytes are damaged"),
        (gzip.compress(b"abc")[:-1], "its message is not gzip: it ends too early"),
        (gzip.compress(b"abc") + b"\0", "its message is not gzip: it ends too early"),
        (gzip.compress(b"abc") + b"abc", "its message is not gzip: the bytes are damaged"),
    ],
)
def test_what_is_called_gzip_must_be_gzip(message: bytes, why: str) -> None:
    assert refused(envelope(1, message), "gzip") == (Reason.invalid_input, why)


def test_a_coding_that_is_not_known_is_refused_even_where_nothing_is_compressed() -> None:
    assert refused(envelope(0, b"a"), "br") == (
        Reason.unsupported_media,
        "messages compressed with 'br' are not read; send gzip or identity",
    )


@pytest.mark.parametrize("members", [1, 3])
def test_a_message_is_inflated_up_to_the_limit(members: int) -> None:
    fits = b"".join(gzip.compress(b"a" * size) for size in ([LIMIT] if members == 1 else [400, 400, 200]))
    assert only_message(envelope(1, fits), "gzip", LIMIT) == b"a" * LIMIT
    over = envelope(1, fits + gzip.compress(b"a"))
    assert refused(over, "gzip")[0] is Reason.request_too_large
    bomb = envelope(1, gzip.compress(bytes(100_000_000), 9))
    assert refused(bomb, "gzip")[0] is Reason.request_too_large


def test_many_members_take_time_for_each_and_no_more() -> None:
    few, many = (envelope(1, gzip.compress(b"") * count) for count in (5_000, 50_000))
    began = time.process_time()
    only_message(few, "gzip", LIMIT)
    between = time.process_time()
    only_message(many, "gzip", LIMIT)
    assert time.process_time() - between < 25 * (between - began)


@given(st.lists(st.binary(max_size=20)))
def test_base64_may_be_put_together_of_parts_with_padding(parts: list[bytes]) -> None:
    assert from_base64(b"".join(map(base64.b64encode, parts))) == b"".join(parts)


@pytest.mark.parametrize(
    "body", [b"A", b"AA", b"AA=", b"A===", b"====", b"AAAA\n", b"AA==A", b"=AAA", b"AA-_", b"\xff"]
)
def test_what_is_not_base64_is_refused(body: bytes) -> None:
    with pytest.raises(RunError) as error:
        from_base64(body)
    assert error.value.reason is Reason.invalid_input


@pytest.mark.parametrize(("value", "seconds"), [("0", 0), ("300", 0.3), ("9999999999", 9999999.999)])
def test_a_deadline_of_connect_is_in_milliseconds(value: str, seconds: float) -> None:
    assert connect_timeout([]) is None
    assert connect_timeout([value]) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0n", 0),
        ("300m", 0.3),
        ("2S", 2),
        ("1M", 60),
        ("1H", 3600),
        ("500u", 0.0005),
        ("5n", 5e-9),
        ("99999999H", 359999996400),
        ("2147483647m", 2147483.647),
        ("9" * 20 + "n", 1e11),
    ],
)
def test_a_deadline_of_grpc_has_a_unit(value: str, seconds: float) -> None:
    assert grpc_timeout([]) is None
    assert grpc_timeout([value]) == pytest.approx(seconds)


@pytest.mark.parametrize("values", [[""], ["-1"], ["1.5"], ["1e3"], ["12345678901"], ["٣"], ["1 "], ["1", "2"], ["1S"]])
def test_a_malformed_deadline_of_connect_is_refused(values: list[str]) -> None:
    with pytest.raises(RunError, match="send up to ten digits") as error:
        connect_timeout(values)
    assert error.value.reason is Reason.invalid_input


@pytest.mark.parametrize(
    "values", [[""], ["1"], ["S"], ["-1S"], ["1.5S"], ["1" * 21 + "S"], ["1s"], ["٣S"], ["1S", "1S"]]
)
def test_a_malformed_deadline_of_grpc_is_refused(values: list[str]) -> None:
    with pytest.raises(RunError, match="send up to eight digits and one of") as error:
        grpc_timeout(values)
    assert error.value.reason is Reason.invalid_input
