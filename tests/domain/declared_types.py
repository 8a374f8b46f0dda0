"""Types that the tests of declarations use: in inputs, and in outputs."""

from decimal import Decimal
from enum import StrEnum
from typing import Generic, TypeVar

from pydantic import BaseModel


class Colour(StrEnum):
    red = "red"
    blue = "blue"


class Item(BaseModel):
    name: str
    price: Decimal = Decimal("1.5")


Boxed = TypeVar("Boxed")


class Box(BaseModel, Generic[Boxed]):
    inside: Boxed


class Unreadable:
    pass
