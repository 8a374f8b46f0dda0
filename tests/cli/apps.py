"""The apps of these tests, as the files that a user would write."""

from pathlib import Path

SHOP = '''
"""A shop."""
import datetime
import decimal
import enum
import json
import time

from pydantic import BaseModel

from deltawire import Message, Prompt, function


@function(max_tokens=64)
def chat(message: str, history: list[Message] = []) -> Prompt:
    """Answer a customer."""
    return Prompt(messages=history, user=message)


class Items(BaseModel):
    items: list[str]
    total: decimal.Decimal | None = None


@function(output=Items)
def extract_items(passage: str) -> str:
    """Extract the products."""
    return passage


class Tone(enum.StrEnum):
    warm = "warm"
    one = "1"


@function
def everything(
    text: str,
    count: int = 1,
    loud: bool = False,
    day: datetime.date | None = None,
    tone: Tone = Tone.warm,
    price: decimal.Decimal = decimal.Decimal("1"),
    tags: list[str] = [],
    limits: dict[str, int] = {},
    model: str = "none",
) -> str:
    """Tell what arrived, for 100 % of the types."""
    return json.dumps({**locals(), "tone": str(tone), "day": str(day), "price": str(price)})


@function
def broken(text: str) -> str:
    raise KeyError("of its own")


@function
def blocked(text: str) -> str:
    print("blocked", flush=True)
    time.sleep(3600)
    return text
'''


def shop(folder: Path) -> Path:
    """The file, written into the folder."""
    file = folder / "shop.py"
    file.write_text(SHOP)
    return file
