"""What an OpenAI-compatible server answers with, decoded to just the fields that are used.

In: the data of one server-sent event, or the JSON body of a reply that was not streamed. Out: pieces of text and
reasoning, a finish reason, usage, or the error that the server reports inside a reply of status 200.
"""

import json

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


class _Uncounted(Struct):
    """A ``Chunk`` whose usage is none."""

    choices: list[Choice] | None = None
    error: object = None


_decoder = msgspec.json.Decoder(Chunk)
_uncounted = msgspec.json.Decoder(_Uncounted)

FINISH_REASONS: dict[str, FinishReason] = {
    "stop": FinishReason.stop,
    "length": FinishReason.length,
    "content_filter": FinishReason.content_filter,
}


def decode(data: bytes) -> Chunk:
    """Raises ``ValueError`` (of which msgspec's errors are kinds) for what is no chunk."""
    try:
        return _decoder.decode(data)
    except msgspec.ValidationError:
        uncounted = _uncounted.decode(data)  # an answer is not given up for a count that is no number
        return Chunk(uncounted.choices, None, uncounted.error)
    except msgspec.DecodeError:
        # A server that escapes every UTF-16 unit by itself may cut a surrogate pair over two chunks. msgspec refuses
        # the half, json keeps it; the pieces are put together again before anybody sees them.
        if b"\\u" not in data:
            raise
        return msgspec.convert(json.loads(data), Chunk, strict=True)
