"""The functions of the page's examples, served to the tests."""

import asyncio
import sys
from pathlib import Path
from typing import NoReturn

from pydantic import BaseModel, field_validator

from deltawire import Timeouts, Variant, function


@function(retries=0)
def say(message: str) -> str:
    """Say something."""
    return message


@function(retries=0, max_tokens=5)
def capped(message: str) -> str:
    return message


@function(retries=2)
def patient(message: str) -> str:
    return message


@function(retries=0, timeouts=Timeouts(first_token=0.3, idle=0.3))
def hasty(message: str) -> str:
    return message


@function(retries=0, timeouts=Timeouts(idle=0.3))
def halting(message: str) -> str:
    """May be as late as a busy machine makes it, but for its pauses."""
    return message


@function(retries=0, timeouts=Timeouts(idle=1))
def pausing(message: str) -> str:
    """May pause for longer than a busy machine makes anybody pause."""
    return message


@function(retries=0, timeouts=Timeouts(total=0.3))
def brief(message: str) -> str:
    return message


@function(retries=0, max_answer_bytes=4)
def short(message: str) -> str:
    return message


@function(retries=0, models=["openai:m", "openai:n"])
def spare(message: str) -> str:
    return message


@function(retries=0, models=["openai:m", "openai:n"], hedge_after=0.1)
def eager(message: str) -> str:
    return message


@function(
    retries=0,
    variants=[Variant("a", weight=9, model="openai:m"), Variant("b", model="openai:n", max_tokens=7)],
)
def split(message: str) -> str:
    return message


@function(retries=0, model="refused:m")
def refused(message: str) -> str:
    return message


@function(retries=0, model="deaf:m", timeouts=Timeouts(connect=0.3))
def deaf(message: str) -> str:
    return message


@function(retries=0, model="deaf:m")
def unconnected(message: str) -> str:
    """Waits for its connection as long as the usual limit allows."""
    return message


@function(retries=0)
def blocking(file: str) -> str:
    """Blocks its thread until somebody has written to the named pipe."""
    return Path(file).read_text()


@function(retries=0)
async def waiting(file: str) -> str:
    """Waits for the same, without blocking."""
    return await asyncio.to_thread(Path(file).read_text)


@function
def broken(message: str) -> NoReturn:
    raise RuntimeError(f"this function fails on purpose: {message}")


@function
def exiting(message: str) -> NoReturn:
    sys.exit(f"this function exits on purpose: {message}")


@function
async def exiting_later(message: str) -> NoReturn:
    await asyncio.sleep(0)
    sys.exit(f"this function exits on purpose: {message}")


@function
def exhausted(message: str) -> str:
    return next(iter(()), *message[:0])  # fails on purpose


@function(retries=0)
def tally(numbers: list[int]) -> str:
    return str(sum(numbers))


@function
def interrupting(message: str) -> NoReturn:
    raise KeyboardInterrupt(f"this function interrupts on purpose: {message}")


@function
def closing(message: str) -> NoReturn:
    raise GeneratorExit(f"this function closes on purpose: {message}")


@function
async def closing_later(message: str) -> NoReturn:
    await asyncio.sleep(0)
    raise GeneratorExit(f"this function closes on purpose: {message}")


class Ending(BaseException):
    """What libraries raise that want to get past every ``except Exception``."""


@function(inline=True)
def ending(message: str) -> NoReturn:
    raise Ending(f"this function ends on purpose: {message}")


class Items(BaseModel):
    items: list[str]


class Touchy(BaseModel):
    items: list[str]

    @field_validator("items")
    @classmethod
    def fail(cls, items: list[str]) -> NoReturn:
        raise ZeroDivisionError(f"this validator fails on purpose: {items}")


@function(output=Items, retries=0)
def items(message: str) -> str:
    return message


@function(output=Items, retries=0, repair=True)
def mended(message: str) -> str:
    return message


@function(output=Items, retries=0, max_answer_bytes=16)
def few(message: str) -> str:
    return message


@function(output=Touchy, retries=0)
def touchy(message: str) -> str:
    return message
