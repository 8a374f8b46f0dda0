"""AWS Signature Version 4 in the header ``authorization``, for a POST to ``/`` without a query.

Pure. In: a request, who sends it, and when. Out: the headers to send it with. That is all that AWS's JSON protocols
need; paths, queries and streamed bodies have rules of their own and are not signed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from hmac import digest

_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who we are for AWS. ``session_token`` belongs to those of a role, which expire."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a signature is good for, on the day of its date."""

    region: str
    service: str


def signed(
    headers: Mapping[str, str], body: bytes, credentials: Credentials, scope: Scope, now: datetime
) -> dict[str, str]:
    """The ``headers`` and those that AWS wants besides, all of them signed but for ``authorization`` itself. The
    ``host`` must be among them, as it is sent. Names are in lower case."""
    moment = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    sent = {**headers, "x-amz-date": moment}
    if credentials.session_token is not None:
        sent["x-amz-security-token"] = credentials.session_token
    names = ";".join(sorted(sent))
    lines = "".join(f"{name}:{' '.join(sent[name].split())}\n" for name in sorted(sent))
    request = f"POST\n/\n\n{lines}\n{names}\n{sha256(body).hexdigest()}"
    within = f"{moment[:8]}/{scope.region}/{scope.service}/aws4_request"
    to_sign = f"{_ALGORITHM}\n{moment}\n{within}\n{sha256(request.encode()).hexdigest()}"
    key = b"AWS4" + credentials.secret_access_key.encode()
    for step in within.split("/"):
        key = digest(key, step.encode(), "sha256")
    signature = digest(key, to_sign.encode(), "sha256").hex()
    who = f"Credential={credentials.access_key_id}/{within}"
    return {**sent, "authorization": f"{_ALGORITHM} {who}, SignedHeaders={names}, Signature={signature}"}
