"""Which functions can be called with messages alone, and which of their parameters get what."""

from collections.abc import Callable, Sequence
from typing import Annotated

import pytest
from pydantic import Field

from deltawire import Message, Prompt, function
from deltawire.domain.errors import Reason, RunError
from deltawire.transports.http.conversation import Conversation, Said


def both(message: str, history: list[Message] = []) -> Prompt: ...  # noqa: B006
def both_required(history: list[Message], message: str) -> Prompt: ...
def optional(message: str, history: list[Message] | None = None) -> Prompt: ...
def limited(messages: Annotated[tuple[Message, ...], Field(max_length=3)]) -> Prompt: ...
def tuned(messages: Sequence[Message], tone: str = "kind", stars: int = 5) -> Prompt: ...
def renamed(
    text: Annotated[str, Field(alias="words")], past: Annotated[list[Message], Field(alias="said")]
) -> Prompt: ...
def one_text(text: Annotated[str, Field(max_length=100)], stars: int = 5) -> Prompt: ...
def two_texts(text: str, language: str) -> Prompt: ...
def number(messages: list[Message], stars: int) -> Prompt: ...
def two_lists(left: list[Message], right: list[Message]) -> Prompt: ...
def other_list(texts: list[str]) -> Prompt: ...
def nothing() -> Prompt: ...


@pytest.mark.parametrize(
    ("code", "taken"),
    [
        (both, Conversation("history", "message")),
        (both_required, Conversation("history", "message")),
        (optional, Conversation("history", "message")),
        (limited, Conversation("messages", None)),
        (tuned, Conversation("messages", None)),
        (renamed, Conversation("said", "words")),
        (one_text, Conversation(None, "text")),
        (two_texts, None),
        (number, None),
        (two_lists, None),
        (other_list, None),
        (nothing, None),
    ],
)
def test_a_signature_says_how_messages_are_taken(code: Callable[..., object], taken: Conversation | None) -> None:
    assert Conversation.of(function(code)) == taken


A, B = Said("user", "a"), Said("assistant", "b")
SYSTEM = Said("system", "s")


def test_instructions_after_the_users_last_words_go_before_them() -> None:
    given, beside = Conversation("history", "message").input_of([A, B, A, SYSTEM])
    assert given == (
        b'{"history":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},'
        b'{"role":"system","content":"s"}],"message":"a"}'
    )
    assert beside == ()


def test_instructions_that_no_parameter_takes_are_kept_beside_the_input() -> None:
    assert Conversation(None, "text").input_of([SYSTEM, A, B, A, SYSTEM]) == (b'{"text":"a"}', ("s", "s"))


def test_a_list_of_messages_gets_them_as_they_are() -> None:
    given, _ = Conversation("messages", None).input_of([B])
    assert given == b'{"messages":[{"role":"assistant","content":"b"}]}'


@pytest.mark.parametrize("said", [[SYSTEM], [A, B], [A, B, SYSTEM]])
def test_the_users_last_words_must_be_the_end(said: list[Said]) -> None:
    with pytest.raises(RunError) as caught:
        Conversation(None, "text").input_of(said)
    assert caught.value.reason is Reason.invalid_input
