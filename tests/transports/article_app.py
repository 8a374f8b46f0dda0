"""The functions behind the prompts of the tests."""

from typing import NoReturn

from pydantic import BaseModel

from deltawire import Message, Timeouts, function


class Items(BaseModel):
    items: list[str]


@function(retries=0, max_tokens=512)
def chat(message: str, history: list[Message] = []) -> str:  # noqa: ARG001, B006  (as the shop's)
    return message


@function(retries=0, max_tokens=50)
def capped(message: str) -> str:
    return message


@function(retries=0, timeouts=Timeouts(total=0.3))
def brief(message: str) -> str:
    return message


@function(retries=0, output=Items)
def items(message: str) -> str:
    return message


@function
def broken(message: str) -> NoReturn:
    raise RuntimeError(f"this function fails on purpose: {message}")


@function(retries=0)
def two(left: str, right: str) -> str:
    return left + right
