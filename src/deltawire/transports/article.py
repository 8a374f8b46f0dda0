"""The surface of an older streaming chat, as far as it is the same on every wire: its prompt and its defaults."""

import msgspec
from msgspec import Raw

from deltawire.domain.run import RunRequest, RunSettings

MAX_TOKENS = 100
SEED = 42
TEMPERATURE = 1.0


def prompt_request(
    prompt: str, *, max_tokens: int = MAX_TOKENS, seed: int = SEED, temperature: float = TEMPERATURE
) -> RunRequest:
    """The run request for the function that the setting ``article_function`` names."""
    settings = RunSettings(max_tokens=max_tokens, temperature=temperature, seed=seed)
    return RunRequest(Raw(msgspec.json.encode(prompt)), settings=settings)
