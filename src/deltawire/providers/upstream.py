"""The HTTP client of the providers: sends one attempt's request, hands out the reply's bytes, and translates what
fails.

In: a path and a body. Out: a response of status 200 to read from. Every failure leaves here as a ``RunError`` that says
whether work can have started.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from weakref import WeakSet

import aiohttp

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.ports import Pulse
from deltawire.providers import foreign_errors
from deltawire.providers.body_reader import reading

_LONGEST_ERROR_BODY = 64 * 1024
_DRAIN_SECONDS = 1.0
_STALE_SECONDS = 0.25
"""A kept connection that ends within this time after a request, without a byte of an answer, had ended before it."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What one request brings along, besides its body."""

    headers: Mapping[str, str]
    secrets: tuple[str, ...]
    """They appear in no error message."""
    hint: foreign_errors.Hint = foreign_errors.no_hint


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
        self._headers = {"accept-encoding": "identity", **headers}
        self._keep_alive = keep_alive
        self._session: aiohttp.ClientSession | None = None
        self._fresh_session: aiohttp.ClientSession | None = None
        self._drains: set[asyncio.Task[None]] = set()
        self._connections: WeakSet[asyncio.Future[None]] = WeakSet()

    @asynccontextmanager
    async def post(
        self, path: str, body: bytes, pulse: Pulse, asking: Asking
    ) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        """Send JSON; inside, the response stands with status 200. Leaving early, or with an error, closes the
        connection."""
        response = await self._send(path, body, pulse, asking)
        try:
            with self._told_of_its_end(response):
                if response.status != 200:
                    raise await self._refused(response, asking)
                yield response
        except (aiohttp.ClientError, ConnectionError) as error:
            response.close()
            raise RunError(
                Reason.upstream_truncated, f"the provider '{self.provider}' cut its reply: {_why(error)}"
            ) from error
        except BaseException:
            response.close()
            raise
        else:
            self._let_go(response)

    async def close(self) -> None:
        drains = tuple(self._drains)
        for drain in drains:
            drain.cancel()
        await asyncio.gather(*drains, return_exceptions=True)
        for session in (self._session, self._fresh_session):
            if session is not None:
                await session.close()

    async def _send(self, path: str, body: bytes, pulse: Pulse, asking: Asking) -> aiohttp.ClientResponse:
        try:
            sending = _Sending(pulse)
            try:
                return await self._post(self._kept(), path, body, sending, asking)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                if not sending.found_stale():
                    raise
                return await self._post(self._fresh(), path, body, _Sending(pulse), asking)
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, UnicodeError) as error:
            message = f"the provider '{self.provider}' cannot be reached: {_why(error)}"
            raise RunError(Reason.upstream_unreachable, message, retry_safe=True) from error
        except aiohttp.ClientResponseError as error:
            raise RunError(
                Reason.upstream_invalid, f"the provider '{self.provider}' does not speak HTTP/1.1"
            ) from error
        except (aiohttp.ClientError, ConnectionError) as error:
            message = (
                f"the provider '{self.provider}' took the request and closed the connection without an answer; "
                "whether it did the work is unknown"
            )
            raise RunError(Reason.outcome_unknown, message) from error

    async def _post(
        self, session: aiohttp.ClientSession, path: str, body: bytes, sending: "_Sending", asking: Asking
    ) -> aiohttp.ClientResponse:
        url, headers = self._base_url + path, {**self._headers, **asking.headers}
        return await session.post(url, data=body, headers=headers, allow_redirects=False, trace_request_ctx=sending)

    def _kept(self) -> aiohttp.ClientSession:
        """Uses a connection again, where one is kept."""
        if self._session is None:
            self._session = _session(self._keep_alive)
        return self._session

    def _fresh(self) -> aiohttp.ClientSession:
        """Opens a connection for each request."""
        if self._fresh_session is None:
            self._fresh_session = _session(0)
        return self._fresh_session

    @contextmanager
    def _told_of_its_end(self, response: aiohttp.ClientResponse) -> Generator[None, None, None]:
        """Whoever reads the body hears that the connection has ended. aiohttp forgets to say so where it was aiohttp
        that closed, because a chunk of the body was malformed: the reader would wait until a limit is over."""
        protocol = response.connection.protocol if response.connection is not None else None
        closed = protocol.closed if protocol is not None else None
        if closed is None:  # the body is here already
            yield
            return
        if closed not in self._connections:
            self._connections.add(closed)
            closed.add_done_callback(_seen)

        def tell(_: "asyncio.Future[None]") -> None:
            if not response.content.is_eof() and response.content.exception() is None:
                response.content.set_exception(aiohttp.ClientPayloadError("the body is malformed"))

        closed.add_done_callback(tell)
        try:
            yield
        finally:
            closed.remove_done_callback(tell)

    async def _refused(self, response: aiohttp.ClientResponse, asking: Asking) -> RunError:
        """A status says enough: its body is read as far as it comes soon and whole."""
        body, read = b"", reading(response.content)
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                while len(body) < _LONGEST_ERROR_BODY and (received := await read()):
                    body += received
        except (TimeoutError, aiohttp.ClientError, ConnectionError):
            pass
        return foreign_errors.from_status(
            self.provider, response.status, response.headers, body, asking.secrets, asking.hint
        )

    def _let_go(self, response: aiohttp.ClientResponse) -> None:
        """The answer is complete, its last bytes may not be: read them aside, so that the connection can be used
        again."""
        if response.content.is_eof():
            response.release()
            return
        drain = asyncio.create_task(_drain(response))
        self._drains.add(drain)
        drain.add_done_callback(self._drains.discard)
        drain.add_done_callback(lambda _: response.close())  # also where it was cancelled before it began


class _Sending:
    """One request on its way: on a connection that was kept, or on a new one."""

    def __init__(self, pulse: Pulse) -> None:
        self.pulse = pulse
        self.reused = False
        self._began = asyncio.get_running_loop().time()

    def found_stale(self) -> bool:
        """Whether the connection failed because its server had closed it before: llama.cpp's closes each one when a
        stream ends, though it promises to keep it. No work can have started then. A server that takes the request and
        breaks down over it is taken for one only if it does so at once."""
        return self.reused and asyncio.get_running_loop().time() - self._began < _STALE_SECONDS


def _session(keep_alive: float) -> aiohttp.ClientSession:
    trace: aiohttp.TraceConfig = aiohttp.TraceConfig()
    trace.on_connection_create_start.append(_connecting)
    trace.on_connection_create_end.append(_connected)
    trace.on_connection_reuseconn.append(_reused)
    # How many runs there may be is decided at the door, not by a queue in here.
    connector = (
        aiohttp.TCPConnector(limit=0, keepalive_timeout=keep_alive)
        if keep_alive
        else aiohttp.TCPConnector(limit=0, force_close=True)
    )
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        trace_configs=[trace],
    )


def come_before_the_cut(response: aiohttp.ClientResponse) -> bytes:
    """The bytes that arrived before the connection failed, for a reader who was told of the failure. Comes empty the
    second time. aiohttp raises a failure before it hands out what it has, and has no public way to ask for it."""
    return response.content._read_nowait(-1)  # pyright: ignore[reportPrivateUsage]


async def _drain(response: aiohttp.ClientResponse) -> None:
    read = reading(response.content)
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while await read():
                pass
    except (TimeoutError, aiohttp.ClientError, ConnectionError):
        pass


def _seen(closed: "asyncio.Future[None]") -> None:
    """Look at how a connection ended: else asyncio complains that nobody did."""
    if not closed.cancelled():
        closed.exception()


async def _connecting(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
    context.trace_request_ctx.pulse.connecting()


async def _connected(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
    context.trace_request_ctx.pulse.connected()


async def _reused(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
    context.trace_request_ctx.reused = True


def _why(error: BaseException) -> str:
    """The bottom of it, in the operating system's words, without addresses."""
    if isinstance(error, aiohttp.ClientConnectorDNSError | UnicodeError):
        return "its host name is not known"
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return "its TLS certificate or handshake is not acceptable"
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return "its base_url is no http(s) URL"
    match error:
        case aiohttp.ClientConnectorError(os_error=OSError(errno=int() as number)) if number > 0:
            return os.strerror(number).lower()  # the error's own words are the event loop's, with addresses
        case aiohttp.ClientConnectorError():
            return "no connection"
        case _:
            return "connection lost"
