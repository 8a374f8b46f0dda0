"""The surface of an older streaming chat, as far as it is the same on every wire: its prompt, its defaults, and the one
function that answers it."""

from collections.abc import Iterable

import msgspec
from msgspec import Raw

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.function import Function
from deltawire.domain.run import RunRequest, RunSettings
from deltawire.engine.engine import Engine

MAX_TOKENS = 100
SEED = 42
TEMPERATURE = 1.0
_TOLD = 10


def prompt_request(
    prompt: str, *, max_tokens: int = MAX_TOKENS, seed: int = SEED, temperature: float = TEMPERATURE
) -> RunRequest:
    """The run request for the function that the setting ``article_function`` names."""
    settings = RunSettings(max_tokens=max_tokens, temperature=temperature, seed=seed)
    return RunRequest(Raw(msgspec.json.encode(prompt)), settings=settings)


def prompted(engine: Engine, name: str) -> str:
    """The function's ``name``. Raises ``RunError`` (unknown_function) where no such function takes a prompt."""
    plan = engine.plans.get(name)
    if why := unfit(plan and plan.function, name, engine.plans):
        raise RunError(Reason.unknown_function, why)
    return name


def unfit(function: Function | None, name: str, known: Iterable[str]) -> str | None:
    """Why the function of that name cannot answer prompts, and the way out; ``None`` where it can."""
    if function is None:
        listed = ", ".join(f"'{other}'" for other in sorted(known)[:_TOLD])
        return f"no function named '{name[:100]}' is served; set article_function to one that is; known: {listed}"
    if function.text_input is None:
        return (
            f"function '{name}' takes no prompt: a bare string binds only where exactly one parameter is required and "
            "is a str; set article_function to one that has it so"
        )
    return None
