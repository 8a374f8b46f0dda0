"""Functions whose signatures, outputs and docstrings try what a document must bear."""

from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from deltawire import Message, Prompt, Variant, function


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


@function(retries=0)
def chat(message: str, history: list[Message] = []) -> Prompt:  # noqa: B006
    """Answer a customer, with the conversation so far."""
    return Prompt(messages=history, user=message)


class Item(Closed):
    """What a shop sells."""

    name: str = Field(examples=["kettle"])
    price: Decimal | None = Field(default=None, ge=0, max_digits=8, decimal_places=2)


class Mode(StrEnum):
    train = "train"
    plane = "plane"


def as_json_has_it(value: object) -> object:
    """A number is no text and no truth, as the schema says; pydantic by itself would take "9" for 9."""
    if isinstance(value, str | bool):
        raise ValueError("not a number")
    return value


class Cat(Closed):
    kind: Literal["cat"]
    lives: Annotated[int, BeforeValidator(as_json_has_it)] = Field(default=9, ge=1, le=9)


class Dog(Closed):
    kind: Literal["dog"]
    tricks: list[str] = Field(default=[], max_length=3)


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


@function(output=list[Item], retries=0)
def list_items(passage: str, mode: Mode = Mode.train, pets: list[Pet] = [], day: date | None = None) -> str:  # noqa: B006
    """List what is for sale. <script>alert("x")</script> {{7*7}} ${x} `a` | b

    Odd on purpose: back\\slashes, a tab \t here, an escape \x1b, a NUL \0, half of one \ud83d, U+2028 \u2028, 🙂.
    """
    return f"{passage} {mode} {pets} {day}"


class Node(Closed):
    """A tree."""

    name: str
    children: list["Node"] = []


@function(output=Node, retries=0)
def grow(tree: Node) -> str:
    return tree.name


class Stock:
    class Item(Closed):
        """Another class of the same name, with other fields."""

        shelf: Literal["top", "low"]


@function(output=Stock.Item, retries=0)
def shelve(item: Stock.Item) -> str:
    """Say where an item belongs."""
    return item.shelf


@function(output=Mode, retries=0)
def größe(text: str) -> str:
    """Ein Name, der nicht aus ASCII besteht."""
    return text


@function(retries=0, variants=[Variant("small"), Variant("large", temperature=0.5)])
def describe_chat(message: str) -> str:
    """Has the name that the document would give to something of its own."""
    return message


@function(output=dict[str, int], name="healthz", retries=0)
def count(words: Annotated[list[str], Field(min_length=1)]) -> str:
    return " ".join(words)
