"""The head of a request (RFC 9112, §2.1): what all requests to one origin share is encoded once."""

import re
from collections.abc import Mapping
from functools import lru_cache

from deltawire.providers.http1.errors import HeaderError
from deltawire.providers.http1.origin import Origin

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_KEPT = 32
_BREAKS = re.compile("[\r\n\0]")


class RequestHead:
    """Makes the heads of requests to one origin. Names count once, whatever their case: the request's own headers go
    before the fixed ones."""

    def __init__(self, origin: Origin, headers: Mapping[str, str]) -> None:
        """Raises ``HeaderError``."""
        self._origin = origin
        own = {"host": origin.named, "accept": "*/*", "user-agent": "deltawire"}
        if origin.authorization is not None:
            own["authorization"] = origin.authorization
        self._lines = {**_lines(own), **_lines(headers)}
        self._fixed = b"".join(self._lines.values())
        # Nearly all requests are alike but for their body.
        self._beginning = lru_cache(maxsize=_KEPT)(self._begun)

    def encode(self, path: str, headers: Mapping[str, str], length: int, method: str = "POST") -> bytes:
        """``length`` is that of the body in bytes. Raises ``HeaderError``."""
        return b"%bcontent-length: %d\r\n\r\n" % (self._beginning(method, path, tuple(headers.items())), length)

    def _begun(self, method: str, path: str, headers: tuple[tuple[str, str], ...]) -> bytes:
        lines, fixed = _lines(dict(headers)), self._fixed
        if not self._lines.keys().isdisjoint(lines):
            fixed = b"".join(line for name, line in self._lines.items() if name not in lines)
        target = self._origin.target(path).encode("ascii")
        own = b"".join(lines.values())
        return b"%b %b HTTP/1.1\r\n%b%b" % (method.encode(), target, fixed, own)


def _lines(headers: Mapping[str, str]) -> dict[str, bytes]:
    return {name.lower(): _line(name, value) for name, value in headers.items()}


def _line(name: str, value: str) -> bytes:
    if not _TOKEN.fullmatch(name):
        raise HeaderError(f"{name!r} is no name for a header")
    if _BREAKS.search(value):
        raise HeaderError(f"the header '{name}' holds a line break or a NUL")
    try:
        return f"{name}: {value}\r\n".encode()
    except UnicodeEncodeError:
        raise HeaderError(f"the header '{name}' holds half of a character") from None
