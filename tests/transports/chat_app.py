"""Functions that take a conversation, each in its own way, served to OpenAI's clients."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from deltawire import Message, Prompt, function


@function(retries=0)
def chat(message: str, history: list[Message] = []) -> Prompt:  # noqa: B006  (never changed)
    """Takes the user's last words and what was said before them."""
    return Prompt(system="Be kind.", messages=history, user=message)


@function(retries=0)
def talk(messages: Annotated[Sequence[Message], Field(max_length=5)], tone: str = "plain") -> Prompt:
    """Takes all messages."""
    return Prompt(system=f"Be {tone}.", messages=messages)


@function(retries=0, max_tokens=100)
def summarize(text: str) -> Prompt:
    """Takes the user's last words only."""
    return Prompt(system="Sum up.", user=text)


@function(retries=0)
def bare(text: str) -> str:
    """Has no instructions of its own."""
    return text


class Review(BaseModel):
    stars: int


@function(retries=0, output=Review)
def review(text: str) -> Prompt:
    """Is typed."""
    return Prompt(system="Rate it.", user=text)


@function(retries=0)
def add(a: int, b: int) -> str:
    """Takes no messages."""
    return f"{a} + {b}"


@function(retries=0)
def compare(left: list[Message], right: list[Message]) -> Prompt:
    """Takes two conversations: which of them is meant?"""
    return Prompt(messages=[*left, *right], user="Which is better?")
