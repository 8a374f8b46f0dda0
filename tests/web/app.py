"""What the snippets call: a function that hands its input on to the model as it came."""

import json

from pydantic import JsonValue

from deltawire import function


@function(retries=0)
def chat(message: str, more: dict[str, JsonValue] | None = None) -> str:
    """Say it as it was said."""
    return json.dumps([message, more])
