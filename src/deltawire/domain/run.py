"""A run from the outside: what a caller asks for, and what is on record when it is over."""

import os
import time
from typing import TYPE_CHECKING, Annotated, Self

from msgspec import Meta, Raw, Struct
from msgspec.structs import force_setattr, replace

from deltawire.domain.errors import Reason
from deltawire.domain.events import FinishReason, Usage

MAX_TOKENS = 2**31 - 1
MAX_SEED = 2**53 - 1  # beyond it many clients cannot count

if TYPE_CHECKING:
    MaxTokens = int
    Seed = int
else:  # JSON has one kind of number: 5.0 is a whole one (JSON Schema 2020-12, §6.1.1), and some languages write it so

    def _whole(least: int, most: int) -> object:
        within = {"ge": least, "le": most}
        return Annotated[int, Meta(**within)] | Annotated[float, Meta(**within, multiple_of=1)]

    MaxTokens = _whole(1, MAX_TOKENS)
    Seed = _whole(-MAX_SEED, MAX_SEED)


RunTimeout = Annotated[float, Meta(gt=0)]
"""The time that a run may take, in seconds."""
_SHORTEST_TIMEOUT = 1e-3
"""A deadline that is over when it arrives is one that is over at once."""


class RunSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What a caller may choose for one run. A value above the function's cap is lowered to it."""

    max_tokens: MaxTokens | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    seed: Seed | None = None

    def __post_init__(self) -> None:
        for name, value in (("max_tokens", self.max_tokens), ("seed", self.seed)):
            if isinstance(value, float):
                force_setattr(self, name, int(value))


class RunRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """One call of a function, the same on every wire.

    ``input`` is JSON text, kept as it came so that its numbers stay exact until the function's own types read them.
    ``user`` is an opaque name of the end user. ``timeout`` is in seconds.
    """

    input: Raw
    user: str | None = None
    variant: str | None = None
    settings: RunSettings = RunSettings()
    timeout: RunTimeout | None = None

    def within(self, deadline: float | None) -> Self:
        """The request with a deadline of its caller's, in seconds, unless its own ``timeout`` is shorter."""
        if deadline is None:
            return self
        deadline = max(deadline, _SHORTEST_TIMEOUT)
        return replace(self, timeout=deadline if self.timeout is None else min(deadline, self.timeout))


class InstructedRequest(RunRequest, frozen=True):
    """A call by somebody who says more than the input: instructions, which come after the function's own.

    Not part of a run request as callers write it: only a wire whose form has a place for them makes one.
    """

    instructions: tuple[str, ...] = ()


class RunRecord(Struct, frozen=True, kw_only=True):
    """What observers get when a run is over. Times are in seconds, from the run's arrival."""

    run_id: str
    transport: str
    function: str | None
    """``None`` where the request was refused before it named one."""
    variant: str | None
    model: str | None
    outcome: FinishReason | Reason
    message: str | None
    """What the caller was told, for a run that failed."""
    usage: Usage | None
    attempts: int
    first_content: float | None
    total: float

    @property
    def failed(self) -> bool:
        return isinstance(self.outcome, Reason)


_VARIANT = {f"{digit:x}": f"{8 | digit & 3:x}" for digit in range(16)}
"""Of four random bits the two that the standard leaves (RFC 9562 §4.1)."""


def new_run_id() -> str:
    """A UUID version 7 (RFC 9562 §5.7): sorts by time, so that logs and stores keep a run's neighbours together."""
    at = f"{time.time_ns() // 1_000_000:012x}"
    chance = os.urandom(10).hex()
    return f"{at[:8]}-{at[8:]}-7{chance[:3]}-{_VARIANT[chance[3]]}{chance[4:7]}-{chance[7:19]}"
