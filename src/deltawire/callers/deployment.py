"""Where the calls go: a URL, headers for each request, and what connects to it."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from deltawire.domain.errors import DeclarationError
from deltawire.providers.http1.dialing import Dialer
from deltawire.providers.http1.errors import HeaderError, UnreachableError
from deltawire.providers.http1.origin import origin_of
from deltawire.providers.http1.request import RequestHead
from deltawire.providers.shown_url import shown_url

_BETWEEN = ("via", "server", "cf-ray", "x-cache", "x-served-by")
"""Headers by which proxies make themselves known; a server of ours sends none of them."""


class Deployment:
    """A server of ours behind its URL. All callers share it: addresses are looked up once for all."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        """Raises ``DeclarationError`` for what is no URL, or no header."""
        self.shown = shown_url(url)
        parts = urlsplit(url)
        if parts.query or parts.fragment:
            raise DeclarationError(f"{self.shown} has a query or a fragment: name the server alone")
        try:
            self.origin = origin_of(url.rstrip("/"))
        except UnreachableError as error:
            raise DeclarationError(f"{self.shown} is no URL of a server ({_ours(error)}): write https://HOST") from None
        self.headers = dict(headers)
        try:
            # Nothing may be compressed: a compressor holds back what it has, and its bytes tell nothing of the wire.
            self.head = RequestHead(self.origin, {"accept-encoding": "identity", **headers})
        except HeaderError as error:
            raise DeclarationError(f"--header: {error}") from None
        self.dialer = Dialer(self.origin)

    @property
    def authority(self) -> str:
        """Host and port."""
        host = self.origin.host
        return f"{f'[{host}]' if ':' in host else host}:{self.origin.port}"


def headers_from(written: Sequence[str]) -> dict[str, str]:
    """Each as ``name: value``. Raises ``DeclarationError``, which shows no value."""
    headers: dict[str, str] = {}
    for line in written:
        name, separator, value = line.partition(":")
        if not separator or not name.strip():
            raise DeclarationError("a --header is written as 'name: value', e.g. --header 'authorization: Bearer …'")
        headers[name.strip().lower()] = value.strip()
    return headers


def between(headers: Mapping[str, str]) -> tuple[str, ...]:
    """What proxies have written into a reply's head. ``headers`` have their names in lower case."""
    return tuple(f"{name}: {headers[name][:80]}" for name in _BETWEEN if name in headers)


def _ours(error: UnreachableError) -> str:
    return str(error).replace("its base_url is no http(s) URL", "it is not http or https")
