"""What a function's return value becomes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltawire import Message, Prompt, function
from deltawire.domain.prompt import messages_of

_HISTORY = (Message(role="user", content="Hi"), Message(role="assistant", content="Hello"))


def _pairs(rendered: object) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in messages_of(rendered)]


def test_a_string_is_what_the_user_says() -> None:
    assert _pairs("Hello") == [("user", "Hello")]


def test_a_prompt_goes_out_as_system_conversation_user() -> None:
    assert _pairs(Prompt(user="And you?", messages=_HISTORY, system="Be kind.")) == [
        ("system", "Be kind."),
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "And you?"),
    ]


def test_a_part_that_is_left_out_sends_nothing_and_an_empty_one_is_sent() -> None:
    assert _pairs(Prompt(system="Be kind.")) == [("system", "Be kind.")]
    assert _pairs(Prompt(user="")) == [("user", "")]


@pytest.mark.parametrize("messages", [_HISTORY, list(_HISTORY)])
def test_messages_go_out_as_they_stand(messages: Any) -> None:
    assert messages_of(messages) == _HISTORY


@pytest.mark.parametrize("empty", [Prompt(), [], ()])
def test_no_message_at_all_is_an_error_with_the_way_out(empty: object) -> None:
    with pytest.raises(ValueError, match="the prompt is empty: give it a system, user or other message"):
        messages_of(empty)


_wrong: Any = {"role": "user", "content": "Hi"}
_number: Any = 5
_text: Any = "Hi"


@pytest.mark.parametrize(
    ("rendered", "message"),
    [
        (None, "a function returns a Prompt, a str or a list of Message, not NoneType"),
        (b"Hi", "not bytes"),
        (_wrong, "not dict"),
        ([_wrong], r"a conversation consists of Message\(role=…, content=…\), not of dict"),
        ([*_HISTORY, "Hi"], "not of str"),
        (Prompt(messages=[_wrong]), "not of dict"),
        (Prompt(messages=_text), "not of str"),
        (Prompt(user=_number), "a prompt's user part is a str, not int"),
        (Prompt(system=_number), "a prompt's system part is a str, not int"),
    ],
)
def test_anything_else_is_an_error_that_names_what_it_got(rendered: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        messages_of(rendered)


@function
def _answer_in_json(question: str) -> Prompt:
    return Prompt(system='Answer as {"answer": "..."} and leave {placeholders} alone.', user=f"Question: {question}")


@pytest.mark.parametrize("question", ["{x} {{y}} %s $z {__class__}", "{question}", "{0}", "%(a)s", "\\n{", "${HOME}"])
def test_so_06_braces_reach_the_model_byte_identical(question: str) -> None:
    arguments = _answer_in_json.bind(b'{"question": ' + _json(question) + b"}")
    assert _pairs(_answer_in_json(**arguments)) == [
        ("system", 'Answer as {"answer": "..."} and leave {placeholders} alone.'),
        ("user", f"Question: {question}"),
    ]


@given(st.text())
def test_any_text_reaches_the_model_as_it_was_sent(question: str) -> None:
    for raw in (_json(question), b'{"question": ' + _json(question) + b"}"):
        assert _pairs(_answer_in_json(**_answer_in_json.bind(raw)))[-1] == ("user", f"Question: {question}")


def _json(text: str) -> bytes:
    return json.dumps(text).encode()
