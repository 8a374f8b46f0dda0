"""Events to bytes and bytes to requests, by their exact bytes."""

import json
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Event, Finished, FinishReason, Reasoning, Started, Text, Usage
from deltawire.domain.run import RunSettings
from deltawire.transports import codec

STARTED = Started(run_id="r1", function="say", variant=None, model="a:b", max_tokens=None, timeout=300.0)
FINISHED = Finished(
    run_id="r1", output=Raw(b'{"a": 1}'), finish_reason=FinishReason.stop, usage=Usage(3, 4), attempts=2
)
NOTHING = Finished(run_id="r1", output=None, finish_reason=FinishReason.unknown, usage=None, attempts=1)
ERROR = Error(
    code=Reason.upstream_rate_limited.code,
    reason=Reason.upstream_rate_limited,
    message="slow\n\u2028down",
    run_id="r1",
    retry_after=1.5,
    partial=True,
)
PLAIN = Error(code=Reason.internal.code, reason=Reason.internal, message="m", run_id="r1", partial=False)

FIELDS: list[tuple[Event, str, str]] = [
    (
        STARTED,
        "started",
        '{"run_id":"r1","function":"say","variant":null,"model":"a:b","max_tokens":null,"timeout":300.0}',
    ),
    (Text('a\n"é🙂\0'), "text", '{"text":"a\\n\\"é🙂\\u0000"}'),
    (Text("data: x\r\n\n"), "text", '{"text":"data: x\\r\\n\\n"}'),
    (Text("\u2028\u2029\x85"), "text", '{"text":"\\u2028\\u2029\\u0085"}'),
    (Reasoning("h\u2028m"), "reasoning", '{"text":"h\\u2028m"}'),
    (
        FINISHED,
        "finished",
        '{"run_id":"r1","output":{"a": 1},"finish_reason":"stop",'
        '"usage":{"input_tokens":3,"output_tokens":4},"attempts":2}',
    ),
    (NOTHING, "finished", '{"run_id":"r1","output":null,"finish_reason":"unknown","usage":null,"attempts":1}'),
    (
        ERROR,
        "error",
        '{"code":"resource_exhausted","reason":"upstream_rate_limited","message":"slow\\n\\u2028down",'
        '"run_id":"r1","retry_after":1.5,"partial":true}',
    ),
    (PLAIN, "error", '{"code":"internal","reason":"internal","message":"m","run_id":"r1","partial":false}'),
]


@pytest.mark.parametrize(("event", "name", "fields"), FIELDS)
def test_an_event_as_a_server_sent_event(event: Event, name: str, fields: str) -> None:
    assert codec.sse(event).decode() == f"event: {name}\ndata: {fields}\n\n"


@pytest.mark.parametrize(("event", "name", "fields"), FIELDS)
def test_an_event_as_a_line_of_ndjson(event: Event, name: str, fields: str) -> None:
    assert codec.ndjson(event).decode() == f'{{"type":"{name}",{fields[1:]}\n'


def test_an_output_with_line_separators_stays_one_line() -> None:
    finished = Finished(
        run_id="r", output=Raw('"\u2028\x85"'.encode()), finish_reason=FinishReason.stop, usage=None, attempts=1
    )
    assert codec.sse(finished).decode().count("\\u2028\\u0085") == 1
    assert codec.ndjson(finished).decode().splitlines() == [codec.ndjson(finished).decode()[:-1]]
    assert json.loads(codec.ndjson(finished))["output"] == "\u2028\x85"


@given(st.text(min_size=1))
def test_any_text_survives_and_no_reader_sees_a_line_end_in_it(text: str) -> None:
    for event in (Text(text), Reasoning(text)):
        head, data, *rest = codec.sse(event).decode().splitlines()
        assert (head, rest) == (f"event: {type(event).__name__.lower()}", [""])
        assert json.loads(data.removeprefix("data: ")) == {"text": text}
        (line,) = codec.ndjson(event).decode().splitlines()
        assert json.loads(line) == {"type": type(event).__name__.lower(), "text": text}
    assert codec.text(Text(text)).decode() == text


@pytest.mark.parametrize("event", [STARTED, Reasoning("r"), FINISHED, ERROR])
def test_plain_text_is_the_answer_alone(event: Event) -> None:
    assert codec.text(event) == b""


def test_a_finished_event_as_a_reply_is_tagged() -> None:
    assert codec.finished(NOTHING) == (
        b'{"type":"finished","run_id":"r1","output":null,"finish_reason":"unknown","usage":null,"attempts":1}'
    )


def test_an_error_as_a_problem() -> None:
    assert json.loads(codec.problem(ERROR)) == {
        "type": "about:blank",
        "title": "upstream rate limited",
        "status": 429,
        "detail": "slow\n\u2028down",
        "code": "resource_exhausted",
        "reason": "upstream_rate_limited",
        "run_id": "r1",
        "retry_after": 1.5,
        "partial": True,
    }
    assert json.loads(codec.problem(PLAIN)).keys() == {
        "type", "title", "status", "detail", "code", "reason", "run_id", "partial",
    }  # fmt: skip


def test_a_wait_of_no_time_at_all_is_told() -> None:
    error = Error(code=PLAIN.code, reason=PLAIN.reason, message="m", run_id="r", retry_after=0.0, partial=False)
    assert json.loads(codec.problem(error))["retry_after"] == 0.0


@pytest.mark.parametrize(
    ("body", "reason", "about"),
    [
        (b"", Reason.invalid_json, 'the body is empty; send {"input": …}'),
        (b" \n", Reason.invalid_json, "the body is empty"),
        (b"\xef\xbb\xbf", Reason.invalid_json, "the body is empty"),
        (b"{", Reason.invalid_json, "the body is not JSON"),
        (b'{"input":1}x', Reason.invalid_json, "the body is not JSON"),
        (b"{'input':1}", Reason.invalid_json, "the body is not JSON"),
        (b'{"input":NaN}', Reason.invalid_json, "the body is not JSON"),
        (b'{"input":"\xff"}', Reason.invalid_json, "the body is not UTF-8"),
        (b'{"input":"a","x":"' + "é".encode("latin-1") + b'"}', Reason.invalid_json, "the body is not UTF-8"),
        (b"\xff\xfe{\0}\0", Reason.invalid_json, "the body is not UTF-8"),
        (b'{"input":' + b"[" * 100_000, Reason.invalid_json, "the body is not JSON"),
        (b"[]", Reason.invalid_input, "Expected `object`, got `array`"),
        (b"null", Reason.invalid_input, "Expected `object`, got `null`"),
        (b"{}", Reason.invalid_input, "missing required field `input`"),
        (b'{"input":1,"inputs":2}', Reason.invalid_input, "unknown field `inputs`"),
        (b'{"input":1,"user":5}', Reason.invalid_input, "Expected `str | null`, got `int` - at `user`"),
        (b'{"input":1,"timeout":0}', Reason.invalid_input, "Expected `float` > 0.0 - at `timeout`"),
        (b'{"input":1,"timeout":"5"}', Reason.invalid_input, "at `timeout`"),
        (b'{"input":1,"settings":[]}', Reason.invalid_input, "at `settings`"),
        (b'{"input":1,"settings":{"max_tokens":0}}', Reason.invalid_input, "at `settings.max_tokens`"),
        (b'{"input":1,"settings":{"temperature":2.5}}', Reason.invalid_input, "at `settings.temperature`"),
        (b'{"input":1,"settings":{"top_p":1}}', Reason.invalid_input, "unknown field `top_p`"),
        (b'{"input":1,"settings":{"seed":1.5}}', Reason.invalid_input, "at `settings.seed`"),
    ],
)
def test_a_request_that_cannot_be_read_says_why(body: bytes, reason: Reason, about: str) -> None:
    with pytest.raises(RunError) as raised:
        codec.run_request(body)
    assert raised.value.reason is reason
    assert about in raised.value.message
    assert len(raised.value.message) < 300


@pytest.mark.parametrize(
    ("body", "reason", "about"),
    [
        (b"", Reason.invalid_json, 'the body is empty; send {"type": "…", "input": …}'),
        (b"type=f&input=x", Reason.invalid_json, "the body is not JSON"),
        (b'{"input":1}', Reason.invalid_input, "missing required field `type`"),
        (b'{"type":1,"input":1}', Reason.invalid_input, "at `type`"),
        (b'{"type":"f"}', Reason.invalid_input, "missing required field `input`"),
    ],
)
def test_an_invocation_that_cannot_be_read_says_why(body: bytes, reason: Reason, about: str) -> None:
    with pytest.raises(RunError) as raised:
        codec.invoke_request(body)
    assert raised.value.reason is reason
    assert about in raised.value.message


def test_a_request_keeps_its_input_as_it_came() -> None:
    request = codec.run_request(b'\xef\xbb\xbf {"input": {"n": 1.10, "a":[ ]}, "timeout": 2, "settings": {"seed": 3}}')
    assert bytes(request.input) == b'{"n": 1.10, "a":[ ]}'
    assert (request.timeout, request.settings) == (2.0, RunSettings(seed=3))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_input_is_kept(value: object) -> None:
    body = json.dumps({"type": "f", "input": value}, ensure_ascii=False).encode()
    request = codec.invoke_request(body)
    assert (request.type, msgspec.json.decode(request.run_request().input)) == ("f", value)


HALVES = st.text(st.sampled_from("aé🙂\ud83d\ude42\u2028\0"), max_size=6)


@given(st.recursive(HALVES | st.integers(), lambda x: st.lists(x, max_size=3) | st.dictionaries(HALVES, x, max_size=3)))
def test_what_is_made_well_formed_can_be_sent_and_what_was_well_formed_stays(value: object) -> None:
    made = codec.well_formed(value)
    assert msgspec.json.decode(msgspec.json.encode(made)) == made == codec.well_formed(made)
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return
    assert made == value


@given(st.binary(max_size=80))
def test_no_body_breaks_the_decoder(body: bytes) -> None:
    with suppress(RunError):
        codec.run_request(body)
