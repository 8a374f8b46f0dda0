"""Reading a text from between bytes that are known finds what decoding the whole chunk finds, and nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltawire.domain.events import Piece
from deltawire.providers.openai import chunks
from deltawire.providers.openai.alike import Alike
from deltawire.providers.openai.reply import Foreign, Reply

TEXTS = st.text() | st.sampled_from(['"', "\\", '\\"', '"content":"', "\u2028", "\0", "😀", '"}}]}', "\\u0041"])
STRAY = st.sampled_from([b"", b" ", b'"', b"\\", b",", b"}", b"null", b'"x":', b'"content":"x"', b"\xff", b"\n"])


def encoded(text: str, *, spaces: bool = False, ascii_only: bool = False, **others: Any) -> bytes:
    chunk = {"id": "1", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}], **others}
    return json.dumps(chunk, separators=None if spaces else (",", ":"), ensure_ascii=ascii_only).encode()


def learned(data: bytes) -> Alike:
    """From the second one: of a first text it does not know yet whether another will come."""
    alike = Alike()
    for _ in range(2):
        alike.learn(data, chunks.decode(data))
    return alike


def whole(data: bytes) -> str | None:
    """The text that a whole decoding finds, if the chunk holds nothing else that counts."""
    try:
        chunk = chunks.decode(data)
    except ValueError:
        return None
    return chunk.choices[0].delta.content if chunk.choices and chunk.choices[0].delta else None


@given(TEXTS.filter(bool), TEXTS, st.booleans(), st.booleans())
def test_a_chunk_that_is_alike_gives_its_text(first: str, second: str, spaces: bool, ascii_only: bool) -> None:
    alike = learned(encoded(first, spaces=spaces, ascii_only=ascii_only))
    assert alike.text(encoded(second, spaces=spaces, ascii_only=ascii_only)) == second


@settings(max_examples=500)
@given(TEXTS.filter(bool), TEXTS, st.integers(0, 200), st.integers(0, 3), STRAY)
def test_what_it_reads_is_what_a_whole_decoding_reads(
    first: str, second: str, at: int, gone: int, stray: bytes
) -> None:
    damaged = encoded(second)
    damaged = damaged[:at] + stray + damaged[at + gone :]
    found = learned(encoded(first)).text(damaged)
    assert found is None or found == whole(damaged)


@pytest.mark.parametrize(
    "data",
    [
        encoded("hi", usage={"prompt_tokens": 1, "completion_tokens": 1}),
        encoded("hi", error={"message": "no"}),
        encoded("hi").replace(b"null", b'"stop"'),
        encoded("hi").replace(b'"index":0', b'"index":1'),
        encoded("hi").replace(b'"delta":{', b'"delta":{"reasoning":"hm",'),
        encoded("hi").replace(b'"delta":{', b'"delta":{"reasoning_content":"hm",'),
        encoded("hi").replace(b'"delta":{', b'"delta":{"refusal":"no",'),
        encoded("hi").replace(b'"delta"', b'"message"'),
        encoded("hi").replace(b'"hi"}', b'"hi","content":"ho"}'),
        encoded("h" * 5000),
        encoded(""),
    ],
)
def test_it_learns_from_nothing_but_a_text_alone(data: bytes) -> None:
    assert learned(data).text(data) is None


def test_members_of_the_same_name_elsewhere_are_not_taken_for_the_text() -> None:
    elsewhere = encoded("hi", system={"content": "hi"})
    assert learned(elsewhere).text(encoded("ho", system={"content": "hi"})) == "ho"
    before = b'{"system":{"content":"hi"},' + encoded("hi")[1:]
    alike = learned(before)
    assert alike.text(before.replace(b'{"content":"hi"}', b'{"content":"ho"}', 1)) is None
    assert alike.text(before) in (None, "hi")


def test_of_the_first_text_it_learns_nothing() -> None:
    alike = Alike()
    first, text = encoded("").replace(b'"content"', b'"role":"assistant","content"'), encoded("hi")
    for data in (first, text):
        alike.learn(data, chunks.decode(data))
        assert alike.text(text) is None
    alike.learn(text, chunks.decode(text))
    assert alike.text(text) == "hi"


def test_a_text_that_is_the_probe_itself_proves_nothing() -> None:
    data = encoded("another text", system={"content": "hi"}).replace(b'"content":"another', b'"content":\t"another')
    assert learned(data).text(data) is None


def test_half_a_surrogate_pair_is_for_the_whole_decoding() -> None:
    assert learned(encoded("hi")).text(encoded("hi").replace(b'"hi"', b'"\\ud83d"')) is None


def test_a_lesson_whose_chunk_only_the_looser_decoder_reads_does_no_harm() -> None:
    odd = encoded("hi", number=0).replace(b'"index":0', b'"index":"0"').replace(b'"number":0', b'"number":1e999')
    strange = odd.replace(b'"hi"', b'"\\ud83d"')
    assert learned(strange).text(strange) is None


def test_one_oddity_in_a_chunk_does_not_hide_another() -> None:
    odd = encoded("hi", number=0).replace(b'"index":0', b'"index":"0"').replace(b'"number":0', b'"number":NaN')
    assert whole(odd) == "hi"


def test_it_goes_along_with_a_chunk_that_changes_and_gives_up_where_each_does() -> None:
    alike = learned(encoded("a"))
    for second in range(100):  # a time that stands in each chunk
        for text in ("a", "b"):
            data = encoded(text, created=second)
            if alike.text(data) is None:
                alike.learn(data, chunks.decode(data))
            assert alike.text(data) == text
    for number in range(100):
        data = encoded("c", obfuscation=f"{number}")
        assert alike.text(data) is None
        alike.learn(data, chunks.decode(data))
    assert alike.text(encoded("c", obfuscation="99")) is None


MANY = st.lists(
    TEXTS.map(encoded)
    | st.sampled_from(
        [
            encoded("a").replace(b'"a"', b'"\\ud83d"'),
            encoded("b").replace(b'"b"', b'"\\ude42"'),
            encoded("c").replace(b'"content"', b'"reasoning"'),
            encoded("d").replace(b"null", b'"stop"'),
            encoded("e", usage={"prompt_tokens": 1, "completion_tokens": 1}),
            b"[DONE]",
            b"{",
        ]
    ),
    max_size=12,
)


def heard(parts: list[bytes]) -> tuple[list[tuple[type[Piece], str]], Reply]:
    reply = Reply(Foreign("house", ()), 1 << 20, typed=False)
    said: list[tuple[type[Piece], str]] = []
    for part in [*parts, b""]:
        for piece in [] if reply.done else reply.read(part):
            before = said.pop()[1] if said and said[-1][0] is type(piece) else ""
            said.append((type(piece), before + piece.text))
    return said, reply


@settings(max_examples=500)
@given(MANY)
def test_one_read_of_many_events_says_what_a_read_for_each_says(events: list[bytes]) -> None:
    lines = [b"data: " + event + b"\n\n" for event in events]
    (each, one_by_one), (together, at_once) = heard(lines), heard([b"".join(lines)])
    assert together == each
    assert (at_once.usage, at_once.finish_reason) == (one_by_one.usage, one_by_one.finish_reason)
    assert str(at_once.failure) == str(one_by_one.failure)


def test_the_first_event_that_is_not_alike_is_handed_back_and_the_others_are_left() -> None:
    alike = learned(encoded("a"))
    other = encoded("c", usage={"prompt_tokens": 1, "completion_tokens": 1})
    events = iter([encoded("a"), encoded(""), encoded("b"), other, encoded("d")])
    assert alike.texts(events) == (["a", "", "b"], other)
    assert alike.texts(events) == (["d"], None)
