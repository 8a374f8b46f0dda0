"""Reading a request, and noticing that its caller has left."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol, cast

from starlette.types import Receive, Scope

from deltawire.domain.errors import Reason, RunError
from deltawire.engine.engine import Run
from deltawire.transports.http.settings import HttpSettings

_LONGEST_LENGTH = 18  # in digits: no body is longer, and Python refuses to read thousands of them
JSON = "application/json"
WHY = "deltawire.why"
"""In a message that the connection is over: why our own server has ended it, where it was not the caller."""


class Exchange(Protocol):
    """What our own server knows of a request and ASGI does not tell. It saves each request a timer and a task."""

    def whole_body(self) -> bytes | None:
        """The body, where all of it has come already and ``receive`` was not asked for any of it."""
        ...

    def when_left(self, left: Callable[[str], None] | None) -> None:
        """Whom to call, with the reason, when the caller is gone before the reply is complete; at once if it is."""
        ...


EXCHANGE = "deltawire.exchange"
"""The name of this extension in the scope."""
_VALUES = "deltawire.values"


def exchange_of(scope: Scope) -> Exchange | None:
    extensions = scope.get("extensions")
    return extensions.get(EXCHANGE) if extensions else None


def values(scope: Scope, name: bytes) -> list[str]:
    """Of a header, by its name in lower case: each line's."""
    known = cast("dict[bytes, list[str]] | None", scope.get(_VALUES))
    if known is None:
        known = scope[_VALUES] = _by_name(scope["headers"])
    return known.get(name, [])


def _by_name(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, list[str]]:
    known: dict[bytes, list[str]] = {}
    for name, value in headers:
        if name in known:
            known[name].append(value.decode("latin-1"))
        else:
            known[name] = [value.decode("latin-1")]
    return known


def received_by(scope: Scope, headers: Iterable[tuple[bytes, bytes]]) -> Scope:
    """The scope of a request whose headers, and body, are not those that came."""
    changed = {key: value for key, value in scope.items() if key not in (_VALUES, "extensions")}
    return {**changed, "headers": [*headers]}


def must_be_json(content_types: Iterable[str]) -> None:
    """A body without a type is taken for JSON; a wrong type is a mistake, and how a foreign page's form would come."""
    for content_type in content_types:
        media = content_type.partition(";")[0].strip().lower()
        if media == JSON or (media.startswith("application/") and media.endswith("+json")):
            continue
        raise RunError(Reason.unsupported_media, f"the body's content-type is '{media[:80]}'; send {JSON}")


async def read_body(run: Run, scope: Scope, receive: Receive, settings: HttpSettings) -> bytes:
    """The whole body. Raises ``RunError``: request_too_large, request_timeout, canceled if the caller leaves, and that
    for which the run is stopped meanwhile."""
    limit = settings.max_body_bytes
    exchange = exchange_of(scope)
    body = None if exchange is None else exchange.whole_body()
    if body is not None and len(body) <= limit:
        return body
    announced = next(iter(values(scope, b"content-length")), "").lstrip("0")
    if body is not None or (announced.isdecimal() and (len(announced) > _LONGEST_LENGTH or int(announced) > limit)):
        raise too_large(limit)
    try:
        async with asyncio.timeout(settings.body_timeout) as patience:
            with run.requested(partial(patience.reschedule, 0.0)):
                return await _read_body(receive, limit)
    except TimeoutError:
        message = f"the body was not complete within {settings.body_timeout:g} s (http.body_timeout)"
        raise RunError(Reason.request_timeout, message) from None


async def _read_body(receive: Receive, limit: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RunError(Reason.canceled, "the caller left before its request was complete")
        body += message.get("body", b"")
        if len(body) > limit:
            raise too_large(limit)
        if not message.get("more_body", False):
            return bytes(body)


class cancelled_when_left:
    """While this is open, a caller who leaves ends the run. To be opened when the body is read."""

    __slots__ = ("_exchange", "_receive", "_run", "_watch")

    def __init__(self, run: Run, scope: Scope, receive: Receive) -> None:
        self._run = run
        self._exchange = exchange_of(scope)
        self._receive = receive
        self._watch: asyncio.Task[None] | None = None

    def __enter__(self) -> None:
        if self._exchange is not None:
            self._exchange.when_left(self._run.cancel)
        else:
            self._watch = asyncio.create_task(_watch(self._run, self._receive))

    def __exit__(self, *_: object) -> None:
        if self._exchange is not None:
            self._exchange.when_left(None)
        elif self._watch is not None:
            self._watch.cancel()


async def _watch(run: Run, receive: Receive) -> None:
    message = await receive()
    while message["type"] != "http.disconnect":
        message = await receive()
    run.cancel(message.get(WHY, "the caller left"))


def too_large(limit: int) -> RunError:
    return RunError(Reason.request_too_large, f"the body is larger than {limit} bytes (http.max_body_bytes)")
