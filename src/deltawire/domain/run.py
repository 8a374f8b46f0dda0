"""A run from the outside: what a caller asks for, and what is on record when it is over."""

import os
import time
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Raw, Struct

from deltawire.domain.errors import Reason
from deltawire.domain.events import FinishReason, Usage


class RunSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What a caller may choose for one run. A value above the function's cap is lowered to it."""

    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    seed: int | None = None


class RunRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """One call of a function, the same on every wire.

    ``input`` is JSON text, kept as it came so that its numbers stay exact until the function's own types read them.
    ``user`` is an opaque name of the end user. ``timeout`` is in seconds.
    """

    input: Raw
    user: str | None = None
    variant: str | None = None
    settings: RunSettings = RunSettings()
    timeout: Annotated[float, Meta(gt=0)] | None = None


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


def new_run_id() -> str:
    """A UUID version 7 (RFC 9562 §5.7): sorts by time, so that logs and stores keep a run's neighbours together."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 7 << 76
    return str(UUID(int=value & ~(0x3 << 62) | 2 << 62))
