"""How long a caller will wait, by the header that its protocol has for it. Pure.

In: the header's values. Out: seconds. Raises ``RunError`` (invalid_input) for what the protocols do not allow.
"""

import re
from collections.abc import Sequence

from deltawire.domain.errors import Reason, RunError

_CONNECT = re.compile(r"[0-9]{1,10}")
_GRPC = re.compile(r"([0-9]{1,20})([HMSmun])")
_UNITS = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}


def connect_timeout(values: Sequence[str]) -> float | None:
    """``Connect-Timeout-Ms``: up to ten digits (Connect protocol, "Timeout")."""
    if not values:
        return None
    if len(values) > 1 or not _CONNECT.fullmatch(values[0]):
        raise _malformed("connect-timeout-ms", values, "up to ten digits")
    return int(values[0]) / 1000


def grpc_timeout(values: Sequence[str]) -> float | None:
    """``grpc-timeout``: up to eight digits and a unit (gRPC over HTTP2, "Requests"). Official clients for the web send
    more of them for more than 27 hours, and native gRPC reads those."""
    if not values:
        return None
    found = _GRPC.fullmatch(values[0])
    if len(values) > 1 or found is None:
        raise _malformed("grpc-timeout", values, "up to eight digits and one of H, M, S, m, u, n")
    return int(found[1]) * _UNITS[found[2]]


def _malformed(name: str, values: Sequence[str], form: str) -> RunError:
    return RunError(Reason.invalid_input, f"{name} is '{', '.join(values)[:80]}'; send {form}")
