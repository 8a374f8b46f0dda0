"""The section ``[http]`` of the settings."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, PositiveInt

from deltawire.domain.limits import Seconds, SecondsOrZero
from deltawire.domain.options import Names

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s,*]+")


def _as_browsers_write(origins: tuple[str, ...]) -> tuple[str, ...]:
    """In lower case and without a slash at the end. `*` is none: every page on the web could spend the user's key."""
    written = tuple(origin.lower().rstrip("/") for origin in origins)
    for origin in written:
        if not _ORIGIN.fullmatch(origin):
            raise ValueError(f"'{origin}' is no origin: write each as https://example.com")
    return written


class HttpSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    max_body_bytes: PositiveInt = 1024 * 1024
    """The largest request body, and the largest message on a WebSocket. A larger one is refused before it is used."""
    max_header_bytes: PositiveInt = 32 * 1024
    """The largest head of a request: its first line and its headers."""
    max_headers: PositiveInt = 128
    """The most headers of a request."""
    header_timeout: Seconds = 10.0
    """Seconds in which the head of a request must be complete, from its first byte."""
    body_timeout: Seconds = 60.0
    """Seconds in which a request's body must be complete, from its head."""
    status_hold: SecondsOrZero = 10.0
    """Seconds for which a stream waits for its first content before its headers go out with status 200."""
    heartbeat: Seconds = 15.0
    """Seconds of silence after which a stream says that it is alive, and between the pings on a WebSocket."""
    write_timeout: Seconds = 30.0
    """Seconds for which a caller may take nothing of what is written to it, before its connection is reset."""
    max_runs_per_socket: PositiveInt = 100
    """How many runs may be under way on one WebSocket, and how many prompts may wait on one at ``/ws``."""
    allowed_origins: Annotated[Names, AfterValidator(_as_browsers_write)] = ()
    """Origins of foreign web pages that may call, as ``https://example.com``."""
    allowed_hosts: Names = ()
    """Names besides localhost under which a server that listens on loopback may be called."""
    playground: bool = True
    """Whether ``/`` is the playground, a page that runs the functions."""
