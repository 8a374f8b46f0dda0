"""A run's answer: kept as far as it must be, and read as the function's output type when the model is done."""

import msgspec
from msgspec import Raw
from pydantic import ValidationError

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import FinishReason
from deltawire.domain.function import Function, describe
from deltawire.domain.options import Options
from deltawire.domain.ports import Completion
from deltawire.domain.prompt import Message
from deltawire.engine.json_answer import json_text
from deltawire.engine.optional_nulls import without_optional_nulls

_UNFINISHED: dict[FinishReason, tuple[Reason, str]] = {
    FinishReason.content_filter: (Reason.content_filter, "the provider's content filter stopped the answer"),
    FinishReason.refusal: (Reason.refusal, "the model refused to answer"),
    FinishReason.unknown: (Reason.upstream_truncated, "the provider ended the answer without a finish reason"),
}


_LONG = 64 * 1024
"""Bytes. The slowest answers of this length take some 50 ms to read."""


class Answer:
    """Collects the text of one run.

    The text is kept where the reply needs it whole (``whole``), and for a typed output; else the pieces that went out
    are the answer, and nothing is held. ``strict`` callers get an error for everything but a finished answer; a typed
    function is strict by itself.
    """

    __slots__ = ("_limit", "_may_repair", "_parts", "_size", "_strict", "_whole", "function", "keeps")

    def __init__(self, function: Function, options: Options, *, whole: bool, strict: bool) -> None:
        self.function = function
        self._limit = options.max_answer_bytes
        self._may_repair = options.repair and whole  # a caller who streams has seen the first answer
        self._whole = whole
        self._strict = strict or not function.output.is_text
        self.keeps = whole or not function.output.is_text
        """Whether it is to be told each text; else there is no use in it."""
        self._parts: list[str] = []
        self._size = 0

    @property
    def is_long(self) -> bool:
        """Whether reading it may take so long that a loop should not wait for it."""
        return not self.function.output.is_text and self._size > _LONG

    def add(self, text: str) -> None:
        """Raises ``RunError`` (answer_too_large) when more would have to be kept than the function allows."""
        self._size += len(text) if text.isascii() else len(text.encode())
        if self._size > self._limit:
            message = f"the answer is longer than {self._limit} bytes (max_answer_bytes); ask for less"
            raise RunError(Reason.answer_too_large, message)
        self._parts.append(text)

    def finish(self, completion: Completion, max_tokens: int | None) -> Raw | None:
        """What ``finished`` carries as its output. Raises ``RunError`` for an answer that is none."""
        if self._strict and completion.finish_reason is not FinishReason.stop:
            raise self._unfinished(completion, max_tokens)
        if self.function.output.is_text:
            return Raw(msgspec.json.encode("".join(self._parts))) if self._whole else None
        return self._validated("".join(self._parts))

    def correction(self, error: RunError) -> tuple[Message, ...]:
        """What to tell a model whose typed answer was not valid, so that it answers once more. Raises the error where
        it is not to be asked: it did something else wrong, or was asked before."""
        if error.reason is not Reason.output_invalid or not self._may_repair:
            raise error
        self._may_repair = False
        said = "".join(self._parts)
        self._parts.clear()
        self._size = 0
        told = f"That is not what was asked for: {error.message}. Answer again, with the corrected JSON alone."
        correction = Message(role="user", content=told)
        # Several providers refuse a message without a word.
        return (Message(role="assistant", content=said), correction) if said.strip() else (correction,)

    def _unfinished(self, completion: Completion, max_tokens: int | None) -> RunError:
        if completion.finish_reason is FinishReason.length:
            limit = f"max_tokens = {max_tokens}" if max_tokens is not None else "the model's own limit"
            return RunError(Reason.output_truncated, f"the answer was cut at {limit}; raise it or ask for less")
        reason, message = _UNFINISHED[completion.finish_reason]
        return RunError(reason, f"{message}: {completion.refusal}" if completion.refusal else message)

    def _validated(self, text: str) -> Raw:
        output = self.function.output
        found = json_text(text)
        if found is None:
            raise RunError(Reason.output_invalid, f"the model's answer is not the JSON of {output.name}")
        if output.schema is not None:
            found = without_optional_nulls(found, output.schema.schema)
        try:
            return output.validate(found)
        except ValidationError as error:
            message = f"the model's answer is not a valid {output.name}: {describe(error, 'output')}"
            raise RunError(Reason.output_invalid, message) from None
