"""Functions whose limits are in the settings of the tests."""

import os
import time

from deltawire import function


@function(retries=2)
def thinks(message: str) -> str:
    """Its model may think for long, but not fall silent."""
    return message


@function(retries=2, model="deaf:m")
def deaf(message: str) -> str:
    return message


@function(retries=2)
def retries(message: str) -> str:
    return message


@function(retries=2, model="refused:m")
def refused(message: str) -> str:
    return message


@function(retries=0)
def say(message: str) -> str:
    return message


@function(retries=0)
def sleeps(message: str) -> str:
    """Blocks its thread."""
    time.sleep(0.5)
    return message


@function(retries=0)
def process(message: str) -> str:
    """Tells which one runs it."""
    return f"{message} {os.getpid()}"
