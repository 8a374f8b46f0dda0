"""What an OpenAI-compatible server answers with, decoded to just the fields that are used.

In: the data of one server-sent event, or the JSON body of a reply that was not streamed. Out: pieces of text and
reasoning, a finish reason, usage, or the error that the server reports inside a reply of status 200.
"""

import json
import re

import msgspec
from msgspec import Struct

from deltawire.domain.events import FinishReason, Usage


class Words(Struct, gc=False):
    """A ``delta`` of a stream, or the ``message`` of a whole reply."""

    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    refusal: str | None = None


class Choice(Struct):
    index: int | None = 0
    delta: Words | None = None
    message: Words | None = None
    finish_reason: str | None = None


class Counted(Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Chunk(Struct):
    choices: list[Choice] | None = None
    usage: Counted | None = None
    error: object = None

    def choice(self) -> Choice | None:
        """The one answer that we asked for. Others, which a server sends unasked, are not ours to merge in."""
        for choice in self.choices or ():
            if not choice.index:
                return choice
        return None

    def counted(self) -> Usage | None:
        if self.usage is None:
            return None
        read, written = self.usage.prompt_tokens, self.usage.completion_tokens
        if (read is None and written is None) or (read or 0) < 0 or (written or 0) < 0:
            return None
        return Usage(read or 0, written or 0)


_decoder = msgspec.json.Decoder(Chunk)

_PYTHONS_JSON = re.compile(rb"\\u|NaN|Infinity")

FINISH_REASONS: dict[str, FinishReason] = {
    "stop": FinishReason.stop,
    "length": FinishReason.length,
    "content_filter": FinishReason.content_filter,
}


def decode(data: bytes) -> Chunk:
    """Raises ``ValueError`` (of which msgspec's errors are kinds) for what is no chunk."""
    try:
        chunk = _decoder.decode(data)
    except msgspec.DecodeError:  # or what it is not, where it is JSON
        chunk = _loosely(_parsed(data))
    if chunk.choices is None and chunk.error is None:
        chunk.error = _bare_error(data)
    return chunk


def _parsed(data: bytes) -> object:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        # A server that escapes every UTF-16 unit by itself may cut a surrogate pair over two chunks. msgspec refuses
        # the half, json keeps it; the pieces are put together again before anybody sees them. Servers in Python write
        # NaN and Infinity, beside the text, where JSON has no such numbers.
        if not _PYTHONS_JSON.search(data):
            raise
        return json.loads(data)


def _loosely(read: object) -> Chunk:
    """An answer is not given up for a count that is no number, nor for reasoning of a shape that is not ours."""
    try:
        return msgspec.convert(read, Chunk, strict=True)
    except msgspec.ValidationError:
        return msgspec.convert(read, _LooseChunk, strict=True).chunk()


def _bare_error(data: bytes) -> object:
    """An error that stands in an event by itself, without the member ``error``: passed over, it would leave a part that
    looks like a whole. A ping is none."""
    try:
        read = msgspec.json.decode(data, type=dict[str, object])
    except msgspec.DecodeError:
        return None
    kind = read.get("object") or read.get("type")
    if isinstance(kind, str):
        return read if "error" in kind.lower() else None
    return read if isinstance(read.get("message"), str) or "detail" in read else None


class _Part(Struct):
    """Of a content that is a list: what is said, or thought."""

    type: str
    text: str = ""
    thinking: "str | list[_Part]" = ""

    def thought(self) -> str:
        return self.thinking if isinstance(self.thinking, str) else "".join(part.text for part in self.thinking)


class _LooseWords(Struct):
    content: str | list[_Part] | None = None
    reasoning: object = None
    reasoning_content: object = None
    refusal: object = None

    def words(self) -> Words:
        content = self.content
        parts: list[_Part] = content if isinstance(content, list) else []
        thoughts = [self.reasoning, self.reasoning_content, "".join(part.thought() for part in parts)]
        return Words(
            content="".join(part.text for part in parts) if isinstance(content, list) else content,
            reasoning=next((thought for thought in thoughts if isinstance(thought, str) and thought), None),
            refusal=self.refusal if isinstance(self.refusal, str) else None,
        )


class _LooseChoice(Struct):
    index: int | float | str | None = 0
    delta: _LooseWords | None = None
    message: _LooseWords | None = None
    finish_reason: str | None = None

    def choice(self) -> Choice:
        return Choice(
            0 if self.index in (0, "0", None) else 1,  # which of the others it is does not matter
            self.delta and self.delta.words(),
            self.message and self.message.words(),
            self.finish_reason,
        )


class _LooseChunk(Struct):
    choices: list[_LooseChoice] | None = None
    usage: object = None
    error: object = None

    def chunk(self) -> Chunk:
        choices = None if self.choices is None else [choice.choice() for choice in self.choices]
        try:
            usage = msgspec.convert(self.usage, Counted | None, strict=True)
        except msgspec.ValidationError:
            usage = None
        return Chunk(choices, usage, self.error)
