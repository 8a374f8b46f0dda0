"""One cheap call of a model, through the engine that serves real callers: the same limits, the same reasons."""

from msgspec import Raw

from deltawire.bootstrap.core import build_core
from deltawire.bootstrap.doctor.report import Reached
from deltawire.domain.errors import DeclarationError, Reason
from deltawire.domain.function import function
from deltawire.domain.run import RunRecord, RunRequest
from deltawire.providers.local.install import installed
from deltawire.settings import Settings


@function(name="doctor", max_tokens=16, retries=0, inline=True)
def _greeting() -> str:
    """Some models think before they speak: a single token would not always do."""
    return "Say OK."


class _Last:
    """Implements ``domain.ports.Observer``: remembers how the run went."""

    def __init__(self) -> None:
        self.record: RunRecord | None = None

    def ended(self, record: RunRecord) -> None:
        self.record = record


async def reach(model: str, functions: list[str], settings: Settings, *, call: bool) -> Reached:
    """Without ``call`` the model's provider is made ready as far as that needs no network."""
    last = _Last()
    user = functions[0] if functions else "doctor"
    # What the settings say of functions is not about this one.
    alone = settings.model_copy(update={"functions": {}})
    try:
        core = build_core({user: _greeting}, alone, [last], model=model)
    except DeclarationError as error:
        message = str(error).replace(f", which function '{user}' uses,", "")
        return Reached(model=model, functions=functions, reached=False, message=message)
    try:
        if model.startswith("local:") and settings.local.model_path is None and not installed():
            message = "the local model is not installed; run: deltawire local install"
            return Reached(model=model, functions=functions, reached=False, message=message)
        if not call:
            return Reached(model=model, functions=functions, reached=None)
        await core.engine.arrive("doctor").outcome(user, RunRequest(Raw(b"{}")))
    finally:
        await core.close()
    record = last.record
    assert record is not None, "every run is observed"
    failed = isinstance(record.outcome, Reason)
    return Reached(
        model=model,
        functions=functions,
        reached=not failed,
        first_content=record.first_content,
        total=record.total,
        reason=record.outcome.value if failed else None,
        message=record.message,
    )
