"""Write an LLM function once; its deltas reach every caller over every wire."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltawire.asgi import asgi
    from deltawire.domain.errors import DeclarationError, Reason, RunError
    from deltawire.domain.function import function
    from deltawire.domain.limits import Timeouts
    from deltawire.domain.options import Variant
    from deltawire.domain.prompt import Message, Prompt

__all__ = ["DeclarationError", "Message", "Prompt", "Reason", "RunError", "Timeouts", "Variant", "asgi", "function"]

# Imported when first asked for: only who serves pays for a web framework, and `deltawire --help` for nothing.
_HOMES = {
    "DeclarationError": "deltawire.domain.errors",
    "Message": "deltawire.domain.prompt",
    "Prompt": "deltawire.domain.prompt",
    "Reason": "deltawire.domain.errors",
    "RunError": "deltawire.domain.errors",
    "Timeouts": "deltawire.domain.limits",
    "Variant": "deltawire.domain.options",
    "asgi": "deltawire.asgi",
    "function": "deltawire.domain.function",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'deltawire' has no attribute '{name}'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
