"""The events of a run, in the order in which a caller sees them: ``started``, pieces, one terminal event.

They are ``msgspec`` structs, so that a wire format is one encoder call away. Structs that hold only scalars are kept
out of the garbage collector: a busy server makes ten thousand of them a second.
"""

from enum import StrEnum

from msgspec import UNSET, Raw, Struct, UnsetType

from deltawire.domain.errors import Code, Reason


class FinishReason(StrEnum):
    """Why a model stopped. ``unknown`` is an end marker without a reason, or with one that we do not know."""

    stop = "stop"
    length = "length"
    content_filter = "content_filter"
    refusal = "refusal"
    unknown = "unknown"


class Usage(Struct, frozen=True, gc=False):
    """What the provider counted, in tokens."""

    input_tokens: int
    output_tokens: int


class Started(Struct, frozen=True, gc=False, tag="started", kw_only=True):
    """Comes with the first content. Tells the values that are in force, after caps and defaults."""

    run_id: str
    function: str
    variant: str | None
    model: str
    max_tokens: int | None
    timeout: float
    """The run's total limit, in seconds."""


class Text(Struct, frozen=True, gc=False, tag="text"):
    """A piece of the answer: never empty, at most 64 KiB of UTF-8."""

    text: str


class Refusal(Text, frozen=True, gc=False, tag="text"):
    """A piece of the answer in which the model says that it will not answer: a text like any other, except on wires
    that have a place of its own for it."""


class Reasoning(Struct, frozen=True, gc=False, tag="reasoning"):
    """A piece of the model's reasoning, which is never part of the answer."""

    text: str


class Finished(Struct, frozen=True, tag="finished", kw_only=True):
    """The terminal event of a run that succeeded."""

    run_id: str
    output: Raw | None
    """The answer as JSON text: the validated value, or a string. ``None`` where the pieces are the answer."""
    finish_reason: FinishReason
    usage: Usage | None
    attempts: int


class Error(Struct, frozen=True, tag="error", kw_only=True):
    """The terminal event of a run that failed."""

    code: Code
    reason: Reason
    message: str
    run_id: str
    retry_after: float | UnsetType = UNSET
    """Seconds after which the call may succeed, where the provider or we know it."""
    partial: bool
    """Whether content reached the caller's side before the failure."""


Piece = Text | Reasoning
Event = Started | Text | Reasoning | Finished | Error
