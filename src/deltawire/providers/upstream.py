"""The client of the providers: sends one attempt's request, hands out the reply's bytes, and translates what fails.

In: a path and a body. Out: a response of status 200 to read from. Every failure leaves here as a ``RunError`` that says
whether work can have started.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import NamedTuple

from msgspec import Struct

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.ports import Pulse
from deltawire.providers import foreign_errors
from deltawire.providers.http1.connection import Connection
from deltawire.providers.http1.content_coding import plain
from deltawire.providers.http1.errors import (
    ContentCodingError,
    CutError,
    HeaderError,
    Http1Error,
    InvalidReplyError,
    NoReplyError,
    UnreachableError,
)
from deltawire.providers.http1.origin import origin_of
from deltawire.providers.http1.pool import Pool
from deltawire.providers.http1.request import RequestHead

_LONGEST_ERROR_BODY = 64 * 1024
_ERROR_BODY_SECONDS = 1.0
_STALE_SECONDS = 0.25
"""A kept connection that ends within this time after a request, without a byte of an answer, had ended before it."""


class Asking(Struct, frozen=True, eq=False):
    """What one request brings along, besides its body."""

    headers: Mapping[str, str]
    secrets: tuple[str, ...]
    """They appear in no error message."""
    hint: foreign_errors.Hint = foreign_errors.no_hint
    renewed: Callable[[], Awaitable[bool]] | None = None
    """Whether there are other credentials, now that these have been refused."""


class Response(NamedTuple):
    """A reply of status 200."""

    content_type: str
    """In lower case, without parameters."""
    read: Callable[[], Awaitable[bytes]]
    """What has arrived of the body, or arrives next; no bytes at its end. Raises ``CutError`` after the last of what
    came before the connection failed."""


class Upstream:
    """One provider's server, with a pool of connections that is opened with the first request."""

    def __init__(
        self,
        provider: str,
        base_url: str,
        headers: Mapping[str, str],
        *,
        keep_alive: float,
    ) -> None:
        self.provider = provider
        self._base_url = base_url.rstrip("/")
        self._headers = {
            "accept-encoding": "identity",
            "connection": "keep-alive" if keep_alive else "close",
            **headers,
        }
        self._keep_alive = keep_alive
        self._pool: Pool | None = None
        self._head: RequestHead

    def post(self, path: str, body: bytes, pulse: Pulse, asking: Asking) -> "Post":
        """Send JSON; inside, the response stands with status 200. Leaving early, or with an error, closes the
        connection."""
        return Post(self, path, body, pulse, asking)

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close()

    async def send(self, path: str, body: bytes, pulse: Pulse, asking: Asking) -> Connection:
        try:
            pool = self._opened()
            request = self._head.encode(path, asking.headers, len(body)) + body
            connection = pool.kept() or await _fresh(pool, pulse)
            began = asyncio.get_running_loop().time()
            try:
                return await _answered(connection, request)
            except NoReplyError as error:
                if not (
                    connection.reused and error.silent and asyncio.get_running_loop().time() - began < _STALE_SECONDS
                ):
                    raise
                # Its server had closed it before: llama.cpp's closes each one when a stream ends, though it promises to
                # keep it. No work can have started then. A server that takes the request and breaks down over it is
                # taken for one only if it does so at once.
                return await _answered(await _fresh(pool, pulse), request)
        except UnreachableError as error:
            message = f"the provider '{self.provider}' cannot be reached: {error}"
            raise RunError(Reason.upstream_unreachable, message, retry_safe=True) from error
        except HeaderError as error:
            message = f"the provider '{self.provider}' cannot be asked: {error}; check its headers and its api_key"
            raise RunError(Reason.upstream_auth, message) from error
        except InvalidReplyError as error:
            raise RunError(
                Reason.upstream_invalid, f"the provider '{self.provider}' does not speak HTTP/1.1"
            ) from error
        except NoReplyError as error:
            message = (
                f"the provider '{self.provider}' took the request and closed the connection without an answer; "
                "whether it did the work is unknown"
            )
            raise RunError(Reason.outcome_unknown, message) from error

    def _opened(self) -> Pool:
        if self._pool is None:
            origin = origin_of(self._base_url)
            self._head = RequestHead(origin, self._headers)
            self._pool = Pool(origin, self._keep_alive)
        return self._pool

    async def refused(self, connection: Connection, asking: Asking) -> RunError:
        """A status says enough: its body is read as far as it comes soon and whole."""
        body = b""
        try:
            read = _reader(connection)
            async with asyncio.timeout(_ERROR_BODY_SECONDS):
                while len(body) < _LONGEST_ERROR_BODY and (received := await read()):
                    body += received
        except (TimeoutError, Http1Error):
            pass
        error = foreign_errors.from_status(
            self.provider, connection.status, connection.headers, body, asking.secrets, asking.hint
        )
        if connection.status == 401 and asking.renewed is not None and await asking.renewed():
            error.retry_safe = True
        return error


class Post:
    """One request, while its response is read: ``async with``."""

    __slots__ = ("_asking", "_body", "_connection", "_path", "_pulse", "_upstream")

    def __init__(self, upstream: Upstream, path: str, body: bytes, pulse: Pulse, asking: Asking) -> None:
        self._upstream = upstream
        self._path = path
        self._body = body
        self._pulse = pulse
        self._asking = asking
        self._connection: Connection

    async def __aenter__(self) -> Response:
        connection = await self._upstream.send(self._path, self._body, self._pulse, self._asking)
        try:
            if connection.status != 200:
                raise await self._upstream.refused(connection, self._asking)
            response = Response(connection.content_type, _reader(connection))
        except ContentCodingError as error:
            connection.leave()
            raise self._coded(error) from error
        except BaseException:
            connection.leave()
            raise
        self._connection = connection
        return response

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._connection.let_go()
            return
        self._connection.leave()
        if isinstance(error, CutError):
            message = f"the provider '{self._upstream.provider}' cut its reply: connection lost"
            raise RunError(Reason.upstream_truncated, message) from error
        if isinstance(error, ContentCodingError):
            raise self._coded(error) from error

    def _coded(self, error: ContentCodingError) -> RunError:
        provider = self._upstream.provider
        message = f"the provider '{provider}' answered in the content coding {error}, though it was asked for none"
        return RunError(Reason.upstream_invalid, message)


def _reader(connection: Connection) -> Callable[[], Awaitable[bytes]]:
    return plain(connection.headers.get("content-encoding", ""), connection.read)


async def _fresh(pool: Pool, pulse: Pulse) -> Connection:
    pulse.connecting()
    connection = await pool.fresh()
    pulse.connected()
    return connection


async def _answered(connection: Connection, request: bytes) -> Connection:
    """The connection, with the head of a reply."""
    try:
        await connection.send(request)
    except BaseException:
        connection.abort()
        raise
    return connection
