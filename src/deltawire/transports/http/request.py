"""Reading a request, and noticing that its caller has left."""

import asyncio
from collections.abc import Iterable
from functools import partial

from starlette.types import Receive, Scope

from deltawire.domain.errors import Reason, RunError
from deltawire.engine.engine import Run
from deltawire.transports.http.settings import HttpSettings

_LONGEST_LENGTH = 18  # in digits: no body is longer, and Python refuses to read thousands of them
JSON = "application/json"
WHY = "deltawire.why"
"""In a message that the connection is over: why our own server has ended it, where it was not the caller."""


def values(scope: Scope, name: bytes) -> list[str]:
    """Of a header, by its name in lower case: each line's."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


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
    announced = next(iter(values(scope, b"content-length")), "").lstrip("0")
    if announced.isdecimal() and (len(announced) > _LONGEST_LENGTH or int(announced) > limit):
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

    __slots__ = ("_receive", "_run", "_watch")

    def __init__(self, run: Run, receive: Receive) -> None:
        self._run = run
        self._receive = receive

    def __enter__(self) -> None:
        self._watch = asyncio.create_task(_watch(self._run, self._receive))

    def __exit__(self, *_: object) -> None:
        self._watch.cancel()


async def _watch(run: Run, receive: Receive) -> None:
    message = await receive()
    while message["type"] != "http.disconnect":
        message = await receive()
    run.cancel(message.get(WHY, "the caller left"))


def too_large(limit: int) -> RunError:
    return RunError(Reason.request_too_large, f"the body is larger than {limit} bytes (http.max_body_bytes)")
