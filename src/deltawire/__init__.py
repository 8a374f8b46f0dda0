"""Write an LLM function once; its deltas reach every caller over every wire."""

from deltawire.domain.errors import DeclarationError, Reason, RunError
from deltawire.domain.function import function
from deltawire.domain.limits import Timeouts
from deltawire.domain.prompt import Message, Prompt

__all__ = ["DeclarationError", "Message", "Prompt", "Reason", "RunError", "Timeouts", "function"]
