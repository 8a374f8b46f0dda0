"""The functions of a small shop: what `make serve` serves."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, Field

from deltawire import Message, Prompt, function


@function(temperature=0.2, max_tokens=512)
def chat(message: str, history: list[Message] = []) -> Prompt:  # noqa: B006  (never changed: each call gets its own)
    """Answer a customer, with the conversation so far."""
    return Prompt(system="You are the friendly assistant of a small shop. Be brief.", messages=history, user=message)


@function(temperature=0, max_tokens=200)
def summarize(text: str) -> Prompt:
    """Sum up a text in one or two sentences."""
    return Prompt(system="Summarize the text in one or two sentences.", user=text)


class Items(BaseModel):
    # Bounds keep a small model from running on: it must stop where the schema does.
    items: list[Annotated[str, Field(max_length=40)]] = Field(max_length=8)


SHOWN = [  # two examples say more to a small model than many words
    Message(role="user", content="I ordered a big tent and three kites"),
    Message(role="assistant", content='{"items": ["big tent", "kites"]}'),
    Message(role="user", content="She returned the shoes and a coat"),
    Message(role="assistant", content='{"items": ["shoes", "coat"]}'),
]


@function(output=Items, temperature=0, max_tokens=200)
def extract_items(passage: str) -> Prompt:
    """Extract the names of the products that a passage mentions."""
    return Prompt(system="List the products.", messages=SHOWN, user=passage)


class Sentiment(StrEnum):
    positive = "positive"
    neutral = "neutral"
    negative = "negative"


class Review(BaseModel):
    sentiment: Sentiment
    score: int = Field(ge=1, le=5)


@function(output=Review, temperature=0, max_tokens=60)
def classify_review(review: str) -> Prompt:
    """Say whether a review is positive, neutral or negative, and how many stars it is worth."""
    return Prompt(system="Classify the sentiment of the review and give it 1 to 5 stars.", user=review)
