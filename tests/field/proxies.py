"""What stands in front of a server in the field: nginx as its package installs it, but for ports and folders."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests import nginx as real

_SITE = """
gzip on;
gzip_proxied any;
gzip_types *;
server {{
    listen {address};
    location / {{ proxy_pass http://127.0.0.1:{towards}; {more} }}
}}
"""


@contextmanager
def nginx(folder: Path, towards: int, more: str = "") -> Generator[str]:
    """Its URL; ``more`` goes into its location. It speaks HTTP/1.0 to the server, which is what it does unless told."""
    with real.nginx(folder, lambda address: _SITE.format(address=address, towards=towards, more=more)) as url:
        yield url
