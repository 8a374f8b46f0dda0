"""Limits that contradict each other: those that can never be reached because another one ends the run first.

Pure. Where the longer of two was only a default it does no harm, and is noted; where somebody wrote it down it does not
do what they think.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from deltawire.bootstrap.doctor.report import Finding
from deltawire.domain.limits import Timeouts
from deltawire.settings import Settings

_PROXY = 60.0
"""Seconds of silence after which nginx, the usual balancers and many others cut a connection."""
_PAIRS = (("connect", "first_token"), ("connect", "total"), ("first_token", "total"), ("idle", "total"))


class InForce(Struct, frozen=True, kw_only=True):
    """What counts for one function."""

    function: str
    timeouts: Timeouts
    max_tokens: int | None
    max_answer_bytes: int
    models: tuple[str, ...]
    hedge_after: float | None = None


def contradictions(settings: Settings, functions: Iterable[InForce]) -> list[Finding]:
    found = list(_of_the_server(settings))
    shared: dict[Finding, list[str]] = {}
    for one in functions:
        for finding in _of_a_function(settings, one):
            shared.setdefault(finding, []).append(one.function)
    for finding, names in shared.items():
        found.append(Finding(finding.level, f"{finding.where} of {', '.join(names)}", finding.message))
    return found


def _of_the_server(settings: Settings) -> Iterator[Finding]:
    http = settings.http
    if settings.port and settings.port == settings.grpc_port:
        yield Finding("trouble", "port", f"port and grpc_port are both {settings.port}: change one, or switch it off")
    for name, why in (
        ("heartbeat", "a stream without news"),
        ("status_hold", "a stream that waits for its first content"),
    ):
        seconds: float = getattr(http, name)
        if seconds >= _PROXY:
            yield Finding(
                "trouble",
                f"http.{name}",
                f"{name} is {seconds:g} s: {why} is silent for so long, and most proxies cut what is silent "
                f"for {_PROXY:g} s; set it lower",
            )


def _of_a_function(settings: Settings, one: InForce) -> Iterator[Finding]:
    timeouts = one.timeouts
    for longer, shorter in _PAIRS:
        yield from _longer(longer, getattr(timeouts, longer), shorter, getattr(timeouts, shorter), timeouts)
    if one.hedge_after is not None and one.hedge_after >= timeouts.first_token:
        yield Finding(
            "trouble",
            "hedge_after",
            f"hedge_after ({one.hedge_after:g} s) is not shorter than first_token ({timeouts.first_token:g} s), "
            "which ends the first attempt before there is a second",
        )
    hold, said = settings.http.status_hold, "status_hold" in settings.http.model_fields_set
    if hold > timeouts.total:
        yield Finding(
            "trouble" if said else "note",
            "http.status_hold",
            f"status_hold ({hold:g} s) is longer than total ({timeouts.total:g} s): a run is over before it",
        )
    for model in one.models:
        provider, _, _ = model.partition(":")
        entry = settings.provider(provider)
        if entry is not None and entry.max_event_bytes < one.max_answer_bytes:
            yield Finding(
                "trouble" if "max_event_bytes" in entry.model_fields_set else "note",
                "max_answer_bytes",
                f"an answer may have {one.max_answer_bytes} bytes, but '{provider}' may send no more than "
                f"{entry.max_event_bytes} in one event (max_event_bytes)",
            )
        if provider == "local" and one.max_tokens is not None and one.max_tokens >= settings.local.context:
            yield Finding(
                "trouble",
                "max_tokens",
                f"max_tokens ({one.max_tokens}) leaves no room for a prompt in the local model's context "
                f"({settings.local.context} tokens): lower it, or raise local.context",
            )


def _longer(longer: str, seconds: float, shorter: str, limit: float, timeouts: Timeouts) -> Iterator[Finding]:
    if seconds > limit:
        yield Finding(
            "trouble" if longer in timeouts.model_fields_set else "note",
            f"timeouts.{longer}",
            f"{longer} ({seconds:g} s) is longer than {shorter} ({limit:g} s), which is always over before it",
        )
