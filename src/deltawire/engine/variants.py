"""Which of a function's variants a run is."""

import random
from hashlib import sha256

from deltawire.domain.errors import Reason, RunError
from deltawire.engine.plan import Plan, Way


def choose(plan: Plan, user: str | None, variant: str | None) -> Way:
    """The variant that the caller names; else the one that the user is assigned to; else one at random, by weight.

    A user is assigned by SHA-256 of the function's name, NUL and ``user``: its first eight bytes as a big-endian
    fraction of the sum of the weights, over the cumulative weights in declared order. So the same user always gets the
    same variant, in every process, and the users of one function are divided otherwise than those of another. Raises
    ``RunError`` (unknown_variant), which names the variants that exist.
    """
    if variant is not None:
        return _named(plan, variant)
    if len(plan.ways) == 1:
        return plan.ways[0]
    point = _fraction(plan.function.name, user) * sum(way.weight for way in plan.ways)
    passed = 0.0
    for way in plan.ways:
        passed += way.weight
        if point < passed:
            return way
    return max(plan.ways, key=lambda way: way.weight)  # rounding alone leads here


def _fraction(function: str, user: str | None) -> float:
    if user is None:
        return random.random()
    digest = sha256(f"{function}\0{user}".encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8]) / 2**64


def _named(plan: Plan, variant: str) -> Way:
    for way in plan.ways:
        if way.variant == variant:
            return way
    known = ", ".join(f"'{way.variant}'" for way in plan.ways if way.variant is not None)
    way_out = f"known: {known}" if known else "it has none: leave 'variant' out"
    message = f"function '{plan.function.name}' has no variant '{variant[:100]}'; {way_out}"
    raise RunError(Reason.unknown_variant, message)
