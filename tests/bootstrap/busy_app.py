"""A function that keeps the loop busy, so that calls wait for it."""

import time

from deltawire import function


@function(inline=True, retries=0)
def busy(message: str) -> str:
    time.sleep(0.02)
    return message
