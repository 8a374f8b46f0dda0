"""What a cold start does before the first event: import, settings, the engine, and the provider's key out of SSM."""

from deltawire.bootstrap.core import build_core
from deltawire.domain.function import function
from deltawire.settings import Settings


@function(temperature=0)
def chat(message: str) -> str:
    """Answer a message."""
    return message


build_core({chat.name: chat}, Settings.load(), [])
