"""The chunks of a stream are alike but for their text: that is read from between the bytes that are known.

In: the data of an event. Out: its text, where all else of it was in an earlier chunk byte for byte. It is the same text
that a whole decoding finds, at a third of the price; whatever is not alike is decoded as a whole.
"""

import re
from collections.abc import Iterator

import msgspec

from deltawire.providers.openai import chunks

_CONTENT = re.compile(rb'"content": ?("(?:[^"\\]|\\.)*")')
_OTHER = "another text"
_LONGEST = 4096
_PATIENCE = 4

_string = msgspec.json.Decoder(str).decode


class Alike:
    """One stream's. It learns from a chunk that was decoded and holds nothing but text."""

    __slots__ = ("_after", "_before", "_begin", "_end", "_is_first", "_patience")

    def __init__(self) -> None:
        self._know(b"", b"\0")  # with which no JSON ends
        self._patience = _PATIENCE
        self._is_first = True

    def text(self, data: bytes) -> str | None:
        """``None`` where it is not alike."""
        begin, end = self._begin, self._end
        if data[end:] != self._after or data[:begin] != self._before:
            return None
        try:
            text = _string(data[begin:end])
        except msgspec.DecodeError:  # no JSON string, or half a surrogate pair
            return None
        self._patience = _PATIENCE
        return text

    def texts(self, events: Iterator[bytes]) -> tuple[list[str], bytes | None]:
        """The texts of those that are alike, up to the first that is not: it comes beside them, and is taken from the
        events too."""
        if not self._begin:  # nothing is known yet
            return [], next(events, None)
        begin, end, before, after = self._begin, self._end, self._before, self._after
        texts: list[str] = []
        for data in events:
            if data[end:] != after or data[:begin] != before:
                break
            try:
                texts.append(_string(data[begin:end]))
            except msgspec.DecodeError:
                break
        else:
            data = None
        if texts:
            self._patience = _PATIENCE
        return texts, data

    def learn(self, data: bytes, chunk: chunks.Chunk) -> None:
        """From a chunk that has a text. Some servers write what is another in every chunk: after a few lessons that
        were of no use it learns no more."""
        if self._is_first:  # many answers have but one text, and nothing to learn it for
            self._is_first = not _text_alone(chunk)
            return
        if not self._patience or len(data) > _LONGEST or _text_alone(chunk) in (None, "", _OTHER):
            return
        self._patience -= 1
        found = _CONTENT.search(data)
        if found is None:
            return
        before, after = data[: found.start(1)], data[found.end(1) :]
        # A text in that place has to be the content, and to change nothing else. There may be two members of that name.
        try:
            other = chunks.decode(b'%b"%b"%b' % (before, _OTHER.encode(), after))
        except (ValueError, RecursionError):  # one that takes more had read it, for half a surrogate pair
            return
        if _text_alone(other) == _OTHER:
            self._know(before, after)

    def _know(self, before: bytes, after: bytes) -> None:
        """``after`` is not empty."""
        self._before, self._begin = before, len(before)
        self._after, self._end = after, -len(after)


def _text_alone(chunk: chunks.Chunk) -> str | None:
    """The text of an answer, where that is all that it says."""
    if chunk.usage is not None or chunk.error is not None or chunk.choices is None or len(chunk.choices) != 1:
        return None
    choice = chunk.choices[0]
    words = choice.delta
    if words is None or choice.index or choice.message is not None or choice.finish_reason:
        return None
    return None if words.reasoning or words.reasoning_content or words.refusal else words.content
