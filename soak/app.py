"""The functions that are called in the soak."""

import asyncio
import gc
import json

from pydantic import BaseModel

from deltawire import Timeouts, Variant, function


class Items(BaseModel):
    items: list[str]


@function(retries=0)
def say(message: str) -> str:
    return message


@function(retries=0)
async def later(message: str) -> str:
    await asyncio.sleep(0)
    return message


@function(retries=0, inline=True)
def inline(message: str) -> str:
    return message


@function(retries=0, timeouts=Timeouts(first_token=0.3))
def silent(message: str) -> str:
    return message


@function(retries=0, timeouts=Timeouts(idle=0.3))
def faltering(message: str) -> str:
    return message


@function(retries=0, timeouts=Timeouts(total=0.5))
def brief(message: str) -> str:
    return message


@function(retries=1)
def patient(message: str) -> str:
    return message


@function(retries=0, models=["openai:first", "openai:second"])
def spare(message: str) -> str:
    return message


@function(retries=0, models=["openai:first", "openai:second"], hedge_after=0.1)
def eager(message: str) -> str:
    return message


@function(retries=0, variants=[Variant("a", model="openai:first"), Variant("b", model="openai:second", max_tokens=7)])
def split(message: str) -> str:
    return message


@function(retries=0, model="openai:ill")
def ailing(message: str) -> str:
    """Its model fails for a while, and is well for a while."""
    return message


@function(retries=0, model="refused:m")
def refused(message: str) -> str:
    return message


@function(retries=0, model="deaf:m", timeouts=Timeouts(connect=0.3))
def deaf(message: str) -> str:
    return message


@function(output=Items, retries=0)
def items(message: str) -> str:
    return message


@function(output=Items, retries=0, repair=True)
def mended(message: str) -> str:
    return message


@function(retries=0)
async def census(message: str) -> str:
    """Tells the model what this process holds."""
    gc.collect()
    held = {"tasks": len(asyncio.all_tasks()), "objects": len(gc.get_objects())}
    return f"{message} {json.dumps(held)}"
