"""Functions on Azure's deployments, and typed ones: served to the tests of this room."""

from enum import StrEnum

from pydantic import BaseModel

from deltawire import Prompt, function


@function(model="azure:d1")
def ask(message: str) -> str:
    return message


@function(model="azure-v1:d1")
def ask_v1(message: str) -> str:
    return message


class Note(BaseModel):
    note: str


@function(model="azure:d1", output=Note)
def filtered_note(message: str) -> str:
    return message


@function(output=Note)
def note(message: str) -> str:
    return message


@function(output=Note, repair=True)
def mended_note(message: str) -> str:
    return message


class Share(BaseModel):
    share: float


@function(output=Share)
def share(message: str) -> str:
    return message


class Table(BaseModel):
    title: str
    rows: list[int]


@function(output=Table, max_tokens=7)
def table(message: str) -> str:
    return message


class Colour(StrEnum):
    red = "red"
    blue = "blue"


class Part(BaseModel):
    name: str
    parts: list["Part"] = []


class Order(BaseModel):
    root: Part
    colour: Colour
    currency: str = "EUR"


@function(output=Order)
def order(message: str) -> str:
    return message


class Stock(BaseModel):
    part: Part
    counts: dict[str, int]
    currency: str = "EUR"


@function(output=Stock)
def stock(message: str) -> str:
    return message


@function
def braces(question: str) -> Prompt:
    return Prompt(system='Answer as {"answer": "..."}.', user=f"Question: {question}")
