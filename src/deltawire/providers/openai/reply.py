"""One reply of a chat completions server: bytes in, pieces out, and in the end its completion or its failure."""

import logging

from msgspec import Struct

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import FinishReason, Piece, Reasoning, Refusal, Text, Usage
from deltawire.domain.ports import Completion
from deltawire.providers import foreign_errors
from deltawire.providers.openai import chunks
from deltawire.providers.openai.alike import Alike
from deltawire.providers.openai.pieces import Merger
from deltawire.providers.sse_reader import SseReader

logger = logging.getLogger("deltawire.providers")


class Foreign(Struct, frozen=True):
    """Who answers, for messages: the entry's name, and the words that must not be in them."""

    provider: str
    secrets: tuple[str, ...]


class Reply:
    """Reads what ``/chat/completions`` sends, as a stream (``read``) or in one piece (``read_whole``).

    It never raises in the middle: text that came before a failure, in the same read, goes out first. ``failure`` then
    holds what is to be raised. ``typed`` tells that a JSON answer was asked for, of which a refusal is no part.
    """

    __slots__ = (
        "_alike",
        "_foreign",
        "_merger",
        "_reader",
        "_refusal",
        "_typed",
        "_warned",
        "done",
        "failure",
        "finish_reason",
        "usage",
    )

    def __init__(self, foreign: Foreign, max_event_bytes: int, *, typed: bool) -> None:
        self._foreign = foreign
        self._typed = typed
        self._reader = SseReader(max_event_bytes)
        self._alike = Alike()
        self._merger = Merger()
        self._refusal: list[str] = []
        self.usage: Usage | None = None
        self._warned = False
        self.finish_reason: FinishReason | None = None
        self.failure: RunError | None = None
        self.done = False

    def read(self, received: bytes) -> list[Piece]:
        """The pieces that one network read brings. No bytes are the end of the stream. It reads on until ``done``."""
        if received:
            events = self._reader.feed(received)
            if len(events) == 1:
                text = self._alike.text(events[0])
                if text is not None:
                    return self._merger.one(text)
        else:
            events = self._reader.end()
        following = iter(events)
        while not self.done:
            texts, data = self._alike.texts(following)
            if texts:
                self._merger.add_texts(texts)
            if data is None:
                break
            if data == b"[DONE]":
                self.done = True
                break
            try:
                chunk = chunks.decode(data)
            except (ValueError, RecursionError):
                self._no_chunk(data, last=not received)
            else:
                if self._hear(chunk):
                    self._alike.learn(data, chunk)
        if self._reader.overflowed and not self.done:
            limit = self._reader.max_event_bytes
            message = f"the provider '{self._foreign.provider}' sent an event of more than {limit} bytes"
            self._fail(RunError(Reason.upstream_invalid, message))
        if not received:
            self._end()
        return self._merger.take(last=self.done)

    def read_whole(self, body: bytes) -> list[Piece]:
        """The pieces of a reply that a server sent in one JSON document, though a stream was asked for."""
        try:
            chunk = chunks.decode(body)
        except (ValueError, RecursionError):
            chunk = chunks.Chunk()
        choice = chunk.choice()
        if chunk.error is None and (choice is None or choice.message is None):
            message = f"the provider '{self._foreign.provider}' answered with JSON that is no chat completion"
            self._fail(RunError(Reason.upstream_invalid, message))
        else:
            self._hear(chunk)
        self.done = True
        return self._merger.take(last=True)

    def completion(self) -> Completion:
        """How the reply ended. To be asked when it is ``done`` and did not fail."""
        reason = self.finish_reason or FinishReason.unknown
        if self._refusal and reason is FinishReason.stop:
            reason = FinishReason.refusal
        refusal = foreign_errors.quote("".join(self._refusal), self._foreign.secrets) if self._refusal else None
        return Completion(finish_reason=reason, usage=self.usage, refusal=refusal or None)

    def _no_chunk(self, data: bytes, *, last: bool) -> None:
        if data.strip() == b"[DONE]":
            self.done = True
        elif not last:  # which is a stream that was cut in the middle of an event, not a server that talks nonsense
            message = f"the provider '{self._foreign.provider}' sent an event that is no chat completion chunk"
            self._fail(RunError(Reason.upstream_invalid, message))

    def _hear(self, chunk: chunks.Chunk) -> bool:
        """Whether it has a text, perhaps beside other things."""
        if chunk.error or (chunk.error is not None and chunk.choices is None):  # some servers write an empty one beside
            code, words = foreign_errors.code_and_words(chunk.error)
            self._fail(foreign_errors.from_stream(self._foreign.provider, code, words, self._foreign.secrets))
            return False
        if chunk.usage is not None:
            self.usage = chunk.counted() or self.usage  # servers that repeat it send running totals: the last counts
        choices = chunk.choices
        choice = choices[0] if choices and not choices[0].index else chunk.choice()
        if choices and (choice is None or len(choices) > 1):
            self._warn_of_others()
        if choice is None:
            return False
        words = choice.delta or choice.message
        if words is not None:
            if reasoning := words.reasoning or words.reasoning_content:  # one of two names, or both with the same text
                self._merger.add(Reasoning, reasoning)
            if words.content:
                self._merger.add(Text, words.content)
            if words.refusal:
                self._refusal.append(words.refusal)
                if not self._typed:
                    self._merger.add(Refusal, words.refusal)
        if choice.finish_reason:  # some servers write an empty one until there is one
            self.finish_reason = chunks.FINISH_REASONS.get(choice.finish_reason, FinishReason.unknown)
        return words is not None and bool(words.content)

    def _warn_of_others(self) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(
                "the provider '%s' sends more choices than the one that was asked for; the others are ignored",
                self._foreign.provider,
            )

    def _end(self) -> None:
        if not self.done and self.finish_reason is None:
            message = f"the provider '{self._foreign.provider}' ended its reply before the answer was complete"
            self._fail(RunError(Reason.upstream_truncated, message))
        self.done = True

    def _fail(self, error: RunError) -> None:
        self.failure = self.failure or error
        self.done = True
