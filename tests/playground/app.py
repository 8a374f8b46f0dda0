"""Functions of every shape that the page has a form for, on a model that is scripted."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from deltawire import Message, function


@function(retries=0)
def chat(message: str, history: list[Message] = []) -> list[Message]:  # noqa: B006  (never changed)
    """Answer, with the conversation so far."""
    return [*history, Message(role="user", content=message)]


@function(retries=0)
def say(message: str) -> str:
    """Say something."""
    return message


@function(retries=0, model="openai:m")
def real(message: str) -> str:
    """Say something on a model that the page takes for a real one."""
    return message


class Size(StrEnum):
    small = "small"
    large = "large"


class Item(BaseModel):
    name: str = Field(min_length=1, max_length=20)
    count: int = Field(ge=1, default=1)


class Order(BaseModel):
    items: list[Item]
    paid: bool


@function(output=Order, retries=0)
def order(
    text: str,
    size: Size = Size.small,
    limit: Annotated[int, Field(ge=1, le=9)] = 3,
    ratio: float = 0.5,
    urgent: bool = False,
    tags: list[str] = [],  # noqa: B006  (never changed)
    example: Item | None = None,
) -> str:
    """Read an order out of a text."""
    return f"{text} {size} {limit} {ratio} {urgent} {tags} {example}"


def _small(word: str) -> str:
    if word != word.lower():
        raise ValueError("must be in small letters")
    return word


@function(retries=0)
def spell(word: Annotated[str, AfterValidator(_small)]) -> str:
    """Spell a word, which is checked in a way that no schema tells."""
    return word


@function(retries=0)
def talk(messages: list[Message]) -> list[Message]:
    """Go on with a conversation that holds everything."""
    return messages
