"""Types of answers, of every kind that is used in functions."""

from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, StringConstraints


class Colour(StrEnum):
    red = "red"
    blue = "blue"


class Place(BaseModel):
    """Somewhere."""

    city: str
    zip: str = "00000"


class Node(BaseModel):
    label: str
    children: list["Node"] = Field(default=[], max_length=3)
    parent: "Node | None" = None


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog", "hound"]
    name: str


class Everything(BaseModel):
    place: Place = Field(description="where it was")
    elsewhere: Place | None = None
    home: Place = Place(city="Rome")
    note: str = Field(default="none", description="what else")
    colour: Colour
    second: Colour = Field(default=Colour.red, description="the other colour")
    mixed: Literal["a", 1, None, True]
    version: Literal["v1"] = "v1"
    on: date
    price: Decimal = Field(gt=0)
    page: HttpUrl
    tags: set[str]
    points: list[int] = Field(min_length=1, max_length=3)
    code: Annotated[str, StringConstraints(pattern="^[a-z]+$", max_length=5)]
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    pets: list[Cat | Dog] = []
    tree: Node
    ratio: float = Field(ge=0, lt=1, multiple_of=0.25, examples=[0.5], deprecated=True)


# What strict modes cannot say


class Scores(BaseModel):
    scores: dict[str, int]


class Pair(BaseModel):
    pair: tuple[int, str]


class Anything(BaseModel):
    value: Any


class Untyped(BaseModel):
    values: list[Any]


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class Deep(BaseModel):
    inner: list[Scores] = []
