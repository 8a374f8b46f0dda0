"""Write an LLM function once; its deltas reach every caller over every wire."""

from typing import TYPE_CHECKING

from deltawire.domain.errors import DeclarationError, Reason, RunError
from deltawire.domain.function import function
from deltawire.domain.limits import Timeouts
from deltawire.domain.prompt import Message, Prompt

if TYPE_CHECKING:
    from deltawire.asgi import asgi

__all__ = ["DeclarationError", "Message", "Prompt", "Reason", "RunError", "Timeouts", "asgi", "function"]


def __getattr__(name: str) -> object:
    if name == "asgi":  # only who serves pays for a web framework
        from deltawire.asgi import asgi

        return asgi
    raise AttributeError(f"module 'deltawire' has no attribute '{name}'")
