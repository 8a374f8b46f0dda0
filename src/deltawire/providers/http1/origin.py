"""Where a provider is, from the URL in its settings: whom to dial, and what each request says of it."""

import re
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit

from deltawire.providers.http1.errors import UnreachableError

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[\w:%~-][\w.:%~-]*", re.ASCII)
_MEANS_TWO = re.compile("[\u00df\u03c2\u200c\u200d]")
"""What the two versions of IDNA read as different names (Unicode TR 46, §7): whom we would ask is not clear."""
_IN_A_TARGET = "%!$&'()*+,/:;=?@[]~"


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a URL (RFC 6454, §4), and the rest of it."""

    host: str
    port: int
    tls: bool
    named: str
    """The host as the header ``host`` writes it."""
    prefix: str
    """Path and query, to which a request's own are added."""
    authorization: str | None = field(repr=False)
    """Basic (RFC 7617), where the URL holds a user."""

    def target(self, path: str) -> str:
        """The request target (RFC 9112, §3.2.1): in ASCII, with an escape for what cannot stand in it."""
        target = (self.prefix + path).partition("#")[0]
        return quote(target if target.startswith("/") else f"/{target}", safe=_IN_A_TARGET)


def origin_of(url: str) -> Origin:
    """Raises ``UnreachableError``."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise UnreachableError("its base_url is no http(s) URL") from None
    if parts.scheme not in _PORTS or not host:
        raise UnreachableError("its base_url is no http(s) URL")
    host = _ascii(host)
    if not _HOST.fullmatch(host):
        raise UnreachableError("its base_url is no http(s) URL")
    usual = _PORTS[parts.scheme]
    port = usual if port is None else port
    named = f"[{host.partition('%')[0]}]" if ":" in host else host  # a zone is of this machine (RFC 6874, §3)
    return Origin(
        host=host.replace("%25", "%"),
        port=port,
        tls=parts.scheme == "https",
        named=named if port == usual else f"{named}:{port}",
        prefix=f"{parts.path}?{parts.query}" if parts.query else parts.path,
        authorization=_basic(parts.username, parts.password),
    )


def _ascii(host: str) -> str:
    if host.isascii():
        return host
    if _MEANS_TWO.search(host):
        raise UnreachableError("its host name is written in more than one way: write it as xn--…")
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise UnreachableError("its host name is not known") from None


def _basic(user: str | None, password: str | None) -> str | None:
    if user is None:
        return None
    said = f"{unquote(user)}:{unquote(password or '')}".encode()
    return f"Basic {b64encode(said).decode('ascii')}"
