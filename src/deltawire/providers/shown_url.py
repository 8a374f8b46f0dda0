"""How a URL that somebody wrote into the settings is shown: whatever may be a secret in it is left out."""

import re

_LONGEST = 200


def shown_url(written: str) -> str:
    """Without user and password, which may hold any character; of the query only the names that have a value, and the
    API's version; without a fragment, and not without end."""
    url = re.sub(r"^(\w+:)?(//)?.*@", r"\1\2…@" if "//" in written else "…@", written.strip(), flags=re.DOTALL)
    url, fragment, _ = url.partition("#")
    address, separator, query = url.partition("?")
    parameters = "&".join(_parameter(one) for one in query.split("&")) if query else ""
    return f"{address}{separator}{parameters}{'#…' if fragment else ''}"[:_LONGEST]


def _parameter(written: str) -> str:
    name, separator, _ = written.partition("=")
    if name == "api-version":
        return written
    return f"{name}=…" if separator else "…"
