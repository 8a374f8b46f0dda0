"""Which of our replies a caller wants (RFC 9110 §12.5.1)."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_LONGEST_KEPT = 256


class _Range(NamedTuple):
    type: str
    subtype: str
    quality: float


def negotiate(accept: str | None, offered: Sequence[str]) -> str | None:
    """The media type among ``offered`` that suits best, or ``None`` if none does.

    Without a header, or at equal quality, the earlier offer wins. A more specific range goes before a wider one, so
    that ``text/event-stream, */*;q=0`` means what it says. Parameters other than ``q`` are ignored.
    """
    if accept is None or not accept.strip():
        return offered[0]
    if len(accept) > _LONGEST_KEPT:
        return _negotiated(accept, offered)
    return _kept(accept, tuple(offered))


@lru_cache(maxsize=128)
def _kept(accept: str, offered: tuple[str, ...]) -> str | None:
    """A caller sends the same header again and again."""
    return _negotiated(accept, offered)


def _negotiated(accept: str, offered: Sequence[str]) -> str | None:
    ranges = [_range(part) for part in accept.split(",") if part.strip()]
    best, best_quality = None, 0.0
    for media in offered:
        quality = _quality(media, ranges)
        if quality > best_quality:
            best, best_quality = media, quality
    return best


def _range(part: str) -> _Range:
    media, *parameters = (piece.strip().lower() for piece in part.split(";"))
    kind, _, subtype = ("*/*" if media == "*" else media).partition("/")  # so old clients write it
    quality = 1.0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                quality = min(max(float(value), 0.0), 1.0)
            except ValueError:
                quality = 0.0
    return _Range(kind, subtype, quality)


def _quality(media: str, ranges: Sequence[_Range]) -> float:
    kind, _, subtype = media.partition("/")
    for wanted in ((kind, subtype), (kind, "*"), ("*", "*")):
        qualities = [accepted.quality for accepted in ranges if (accepted.type, accepted.subtype) == wanted]
        if qualities:
            return max(qualities)
    return 0.0
