"""From chunks to the domain's pieces: what one network read brought, merged, split and made whole.

Adjacent text of one kind becomes one piece of at most 64 KiB of UTF-8. The halves of a surrogate pair that a server cut
over two chunks are joined; a half that stays alone becomes U+FFFD.
"""

from deltawire.domain.events import Piece, Reasoning, Text

_MOST = 64 * 1024


class Merger:
    """Collects what a read brings. One for each stream, because half a surrogate pair waits for its other half."""

    __slots__ = ("_half", "_kind", "_parts", "_ready")

    def __init__(self) -> None:
        self._kind: type[Text] | type[Reasoning] = Text
        self._parts: list[str] = []
        self._ready: list[Piece] = []
        self._half = ""

    def add(self, kind: type[Text] | type[Reasoning], text: str) -> None:
        """``text`` is not empty."""
        if kind is not self._kind:
            self._flush(last=True)
            self._kind = kind
        self._parts.append(text)

    def add_texts(self, texts: list[str]) -> None:
        """The same for each that is not empty."""
        if self._kind is not Text and any(texts):
            self._flush(last=True)
            self._kind = Text
        self._parts.extend(filter(None, texts))

    def one(self, text: str) -> list[Piece]:
        """The same as adding this text, of which no half is missing, and taking what has come: nearly every read."""
        if not self._half and len(text) <= _MOST // 4:
            return [Text(text)] if text else []
        if text:
            self.add(Text, text)
        return self.take()

    def take(self, *, last: bool = False) -> list[Piece]:
        """The pieces of this read, in order. At the ``last`` read of a stream nothing waits for its other half any
        more."""
        parts = self._parts
        if len(parts) == 1 and not self._ready and not self._half and parts[0].isascii() and len(parts[0]) <= _MOST:
            return [self._kind(parts.pop())]  # what nearly every read brings
        self._flush(last)
        ready, self._ready = self._ready, []
        return ready

    def _flush(self, last: bool) -> None:
        """Close the run of parts of one kind."""
        if not self._parts and not self._half:
            return
        text = "".join(self._parts)
        self._parts.clear()
        if self._half or not text.isascii():
            text = self._whole_characters(text, last)
        if text:
            self._ready.extend(map(self._kind, _cut(text)))

    def _whole_characters(self, text: str, last: bool) -> str:
        text = self._half + text
        self._half = ""
        if "\ud800" <= text[-1] <= "\udbff" and not last:
            self._half = text[-1]
            text = text[:-1]
        try:
            text.encode()
        except UnicodeEncodeError:  # UTF-16 is where two halves are one character
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text


def _cut(text: str) -> list[str]:
    if len(text) * 4 <= _MOST:
        return [text]
    step = _MOST if text.isascii() else _MOST // 4
    return [text[start : start + step] for start in range(0, len(text), step)]
