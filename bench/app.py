"""The functions that deltawire serves while it is measured."""

from deltawire import Prompt, function


@function(inline=True)
def chat(message: str) -> Prompt:
    """Answer a message."""
    return Prompt(user=message)
