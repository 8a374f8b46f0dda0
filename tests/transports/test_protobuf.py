"""Events to protobuf and to its JSON, and requests from both, held against protobuf's own reader."""

import base64

import pytest
from google.protobuf import json_format
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import UNSET, Raw, json

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Event, Finished, FinishReason, Reasoning, Started, Text, Usage
from deltawire.domain.function import function
from deltawire.transports import protobuf
from deltawire.v1 import functions_pb2 as pb

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
_MAYBE = st.none() | _TEXTS
_EVENTS = st.one_of(
    st.builds(Text, _TEXTS),
    st.builds(Reasoning, _TEXTS),
    st.builds(
        Started,
        run_id=_TEXTS,
        function=_TEXTS,
        variant=_MAYBE,
        model=_TEXTS,
        max_tokens=st.none() | st.integers(1, 2**40),
        timeout=st.floats(0.001, 1e6),
    ),
    st.builds(
        Finished,
        run_id=_TEXTS,
        output=st.none() | _TEXTS.map(lambda text: Raw(json.encode(text))),
        finish_reason=st.sampled_from(FinishReason),
        usage=st.none() | st.builds(Usage, st.integers(-5, 2**70), st.integers(-5, 2**70)),
        attempts=st.integers(1, 9),
    ),
)


@given(event=_EVENTS)
@example(event=Text("é" * 63 + "e"))
@example(event=Text("é" * 64))
@example(event=Text("é" * 30_000))
def test_an_event_is_the_same_in_protobuf_and_in_its_json(event: Event) -> None:
    message = pb.Event.FromString(protobuf.event(event))
    assert json_format.Parse(protobuf.event_json(event), pb.Event()) == message
    assert message.WhichOneof("event") == type(event).__name__.lower()


def test_an_event_without_anything_is_empty() -> None:
    assert pb.Event.FromString(protobuf.NO_EVENT).WhichOneof("event") is None


def test_a_finished_run_has_its_output_as_json_text() -> None:
    event = Finished(run_id="r", output=Raw(b'{"n":1.10}'), finish_reason=FinishReason.stop, usage=None, attempts=1)
    message = pb.Finished.FromString(protobuf.finished(event))
    assert message.output_json == '{"n":1.10}'
    assert not message.HasField("usage")
    assert json_format.Parse(protobuf.finished_json(event), pb.Finished()) == message


def test_the_functions_are_listed_with_their_schemas() -> None:
    @function
    def chat(message: str) -> str:
        """Talk."""
        return message

    listed = pb.ListResponse.FromString(protobuf.functions([chat]))
    assert [(one.name, one.description) for one in listed.functions] == [("chat", "Talk.")]
    assert json.decode(listed.functions[0].input_schema_json) == chat.input_schema()
    assert json_format.Parse(protobuf.functions_json([chat]), pb.ListResponse()) == listed


def test_a_description_may_hold_what_no_message_can_carry() -> None:
    def say(text: str) -> str:
        return text

    say.__doc__ = "Half a character: \ud83d"
    (listed,) = pb.ListResponse.FromString(protobuf.functions([function(say)])).functions
    assert listed.description == "Half a character: \ufffd"


def test_a_request_is_what_it_is_in_json() -> None:
    message = pb.RunRequest(
        function="say",
        input_json='{"message": "hi"}',
        user="u",
        variant="b",
        settings=pb.RunSettings(max_tokens=5, temperature=0, seed=-7),
        timeout=2.5,
    )
    request = protobuf.run_request(message)
    assert bytes(request.input) == b'{"message": "hi"}'
    assert (request.user, request.variant, request.timeout) == ("u", "b", 2.5)
    assert (request.settings.max_tokens, request.settings.temperature, request.settings.seed) == (5, 0, -7)


def test_what_a_request_does_not_say_is_unset() -> None:
    request = protobuf.run_request(pb.RunRequest(function="say", input_json='"hi"'))
    assert (request.user, request.variant, request.timeout) == (None, None, None)
    assert (request.settings.max_tokens, request.settings.temperature, request.settings.seed) == (None, None, None)


@pytest.mark.parametrize(
    ("message", "reason", "words"),
    [
        (pb.RunRequest(), Reason.invalid_json, "the input_json is empty; send JSON text"),
        (
            pb.RunRequest(input_json="hi"),
            Reason.invalid_json,
            'the input_json is not JSON.*; a text .* in quotes, as "hi"',
        ),
        (pb.RunRequest(input_json="1 2"), Reason.invalid_json, "the input_json is not JSON"),
        (pb.RunRequest(input_json="1", timeout=0), Reason.invalid_input, "timeout"),
        (pb.RunRequest(input_json="1", timeout=float("nan")), Reason.invalid_input, "timeout"),
        (pb.RunRequest(input_json="1", settings=pb.RunSettings(max_tokens=0)), Reason.invalid_input, "max_tokens"),
        (pb.RunRequest(input_json="1", settings=pb.RunSettings(seed=2**53)), Reason.invalid_input, "seed"),
        (
            pb.RunRequest(input_json="1", settings=pb.RunSettings(temperature=float("nan"))),
            Reason.invalid_input,
            "temperature",
        ),
    ],
)
def test_a_request_that_cannot_be_used_says_why(message: pb.RunRequest, reason: Reason, words: str) -> None:
    with pytest.raises(RunError, match=words) as raised:
        protobuf.run_request(message)
    assert raised.value.reason == reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", Reason.invalid_json),
        (b"{", Reason.invalid_json),
        (b"\xff", Reason.invalid_json),
        (b"[]", Reason.invalid_input),
        (b'{"timeout":"x"}', Reason.invalid_input),
        (b'{"settings":[]}', Reason.invalid_input),
        (b'{"settings": "x"}', Reason.invalid_input),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, Reason.invalid_json),
    ],
)
def test_json_that_is_no_request_says_why(body: bytes, reason: Reason) -> None:
    with pytest.raises(RunError) as raised:
        protobuf.parse_json(pb.RunRequest(), body)
    assert raised.value.reason == reason


@pytest.mark.parametrize("value", ["{}", "[1]"])
@pytest.mark.parametrize("name", ["inputJson", "input_json"])
def test_an_input_that_is_no_string_says_how_it_is_written(name: str, value: str) -> None:
    with pytest.raises(RunError, match="inputJson is to be a string that holds JSON") as raised:
        protobuf.parse_json(pb.RunRequest(), f'{{"{name}": {value}}}'.encode())
    assert raised.value.reason == Reason.invalid_input


def test_json_may_begin_with_a_byte_order_mark() -> None:
    message = pb.RunRequest()
    protobuf.parse_json(message, b'\xef\xbb\xbf{"inputJson":"1"}')
    assert message == pb.RunRequest(input_json="1")


def test_json_may_have_both_spellings_of_a_name_and_members_that_nobody_knows() -> None:
    message = pb.RunRequest()
    protobuf.parse_json(message, b'{"inputJson":"1","user":"u","settings":{"max_tokens":3},"later":[]}')
    assert message == pb.RunRequest(input_json="1", user="u", settings=pb.RunSettings(max_tokens=3))
    protobuf.parse_json(message, b'{"settings": null}')


@pytest.mark.parametrize("body", [b"\xff", b"\x0a\x05ab", b"\x0a\x01\xff"])
def test_bytes_that_are_no_message_say_so(body: bytes) -> None:
    with pytest.raises(RunError, match=r"deltawire\.v1\.RunRequest") as raised:
        protobuf.parse(pb.RunRequest(), body)
    assert raised.value.reason == Reason.invalid_input


def _error(retry_after: float | None = None) -> Error:
    return Error(
        code=Reason.upstream_rate_limited.code,
        reason=Reason.upstream_rate_limited,
        message="später",
        run_id="r",
        retry_after=UNSET if retry_after is None else retry_after,
        partial=False,
    )


def test_a_status_holds_the_reason_and_when_to_come_again() -> None:
    status = Status.FromString(protobuf.status(_error(1.5)))
    assert (status.code, status.message) == (8, "später")
    info, retry = ErrorInfo(), RetryInfo()
    assert status.details[0].Unpack(info)
    assert status.details[1].Unpack(retry)
    assert (info.domain, info.reason) == ("deltawire", "upstream_rate_limited")
    assert dict(info.metadata) == {"run_id": "r", "partial": "false"}
    assert retry.retry_delay.ToTimedelta().total_seconds() == 1.5
    assert len(Status.FromString(protobuf.status(_error())).details) == 1


def test_connects_error_holds_the_same_details() -> None:
    told = json.decode(protobuf.connect_error(_error(1.5)))
    assert (told["code"], told["message"]) == ("resource_exhausted", "später")
    info, retry = told["details"]
    assert (info["type"], retry["type"]) == ("google.rpc.ErrorInfo", "google.rpc.RetryInfo")
    assert info["debug"]["reason"] == "upstream_rate_limited"
    read = ErrorInfo.FromString(base64.b64decode(info["value"] + "=="))
    assert read == json_format.ParseDict(info["debug"], ErrorInfo())
    assert retry["debug"] == {"retryDelay": "1.500s"}
