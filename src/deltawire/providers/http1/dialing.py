"""Opening a connection: the host's addresses, the first of them that answers (RFC 8305), TLS on top."""

import asyncio
import os
import socket
import ssl
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain, zip_longest
from typing import NamedTuple, TypeVar

from deltawire.providers.http1.errors import UnreachableError
from deltawire.providers.http1.origin import Origin

_NEXT_ADDRESS_AFTER = 0.25
_ADDRESSES_HOLD = 10.0
_P = TypeVar("_P", bound=asyncio.Protocol)


class Address(NamedTuple):
    """Where a socket of this family can connect to."""

    family: int
    where: tuple[str | int, ...] | tuple[int, bytes]


LookUp = Callable[[Origin], Coroutine[None, None, list[Address]]]
"""Raises ``OSError`` or ``UnicodeError``."""


class Dialer:
    """Opens connections to one origin. Whatever becomes of a dial, no socket of it is left but the one it returns."""

    def __init__(self, origin: Origin, look_up: LookUp | None = None) -> None:
        self._origin = origin
        self._look_up = look_up or system_look_up
        self._literal = _literal(origin.host, origin.port)
        self._lookup: asyncio.Task[list[Address]] | None = None
        self._hold_until = 0.0
        self._dialed = 0

    async def dial(self, protocol: Callable[[], _P]) -> _P:
        """Raises ``UnreachableError``."""
        loop, addresses = asyncio.get_running_loop(), ()
        try:
            addresses = await self._addresses()
            opened = await _open(addresses)
            if self._origin.tls:
                return await _secured(opened, self._origin.host.rstrip("."), protocol)
            _, connected = await loop.create_connection(protocol, sock=opened)
        except (OSError, UnicodeError) as error:
            if addresses:
                self._hold_until = 0.0  # the host may have moved
            raise UnreachableError(_why(error)) from error
        return connected

    async def close(self) -> None:
        if self._lookup is not None:
            self._lookup.cancel()
            await asyncio.gather(self._lookup, return_exceptions=True)
            self._lookup = None

    async def _addresses(self) -> Sequence[Address]:
        """Looked up once for all who dial within ten seconds. Each begins with another address."""
        if self._literal is not None:
            return (self._literal,)
        lookup, now = self._lookup, asyncio.get_running_loop().time()
        if lookup is None or (lookup.done() and (now >= self._hold_until or lookup.exception() is not None)):
            self._hold_until = now + _ADDRESSES_HOLD
            lookup = self._lookup = asyncio.ensure_future(self._look_up(self._origin))
            lookup.add_done_callback(_seen)
        found = await asyncio.shield(lookup)
        self._dialed += 1
        return in_turns(found, self._dialed - 1)


async def system_look_up(origin: Origin) -> list[Address]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    if not found:
        raise socket.gaierror(socket.EAI_NONAME, "no address")
    return [Address(family, where) for family, _, _, _, where in found]


def _seen(lookup: "asyncio.Task[list[Address]]") -> None:
    """Look at how it ended: those who waited may all have left."""
    if not lookup.cancelled():
        lookup.exception()


def _literal(host: str, port: int) -> Address | None:
    """Of a host that is an address itself; one with a zone is looked up."""
    for family, where in ((socket.AF_INET, (host, port)), (socket.AF_INET6, (host, port, 0, 0))):
        with suppress(OSError, ValueError):
            socket.inet_pton(family, host)
            return Address(family, where)
    return None


def in_turns(found: Sequence[Address], turn: int) -> list[Address]:
    """The families by turns, that of the system's first choice first, and the addresses of each beginning anew."""
    families: dict[int, deque[Address]] = {}
    for address in found:
        families.setdefault(address.family, deque()).append(address)
    for addresses in families.values():
        addresses.rotate(-turn)
    return [address for address in chain(*zip_longest(*families.values())) if address is not None]


async def _open(addresses: Sequence[Address]) -> socket.socket:
    """The first socket to be connected. Each address gets a start over the next."""
    if len(addresses) == 1:
        return await _connect(addresses[0])
    waiting, under_way = deque(addresses), set[asyncio.Task[socket.socket]]()
    failure: OSError | None = None
    try:
        while waiting or under_way:
            if waiting:
                under_way.add(asyncio.ensure_future(_connect(waiting.popleft())))
            patience = _NEXT_ADDRESS_AFTER if waiting else None
            await asyncio.wait(under_way, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            for attempt in [attempt for attempt in under_way if attempt.done()]:
                under_way.remove(attempt)
                try:
                    return attempt.result()
                except OSError as error:
                    failure = error
        raise failure or OSError("no address")
    finally:
        for attempt in under_way:
            if not attempt.cancel() and attempt.exception() is None:  # it has won as well
                attempt.result().close()


async def _secured(opened: socket.socket, host: str, protocol: Callable[[], _P]) -> _P:
    """TLS in a step of its own: a handshake that is cancelled before it has begun would leave its socket open."""
    loop = asyncio.get_running_loop()
    bare, quiet = await loop.create_connection(asyncio.Protocol, sock=opened)
    try:
        secured = await loop.start_tls(bare, quiet, tls(), server_hostname=host)
    except BaseException:
        bare.abort()
        raise
    if secured is None or secured.is_closing():
        raise ConnectionResetError
    connected = protocol()
    secured.set_protocol(connected)
    connected.connection_made(secured)
    return connected


async def _connect(address: Address) -> socket.socket:
    made = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(made, address.where)
    except BaseException:
        made.close()
        raise
    return made


@cache
def tls() -> ssl.SSLContext:
    context = ssl.create_default_context()  # reads all certificates of the system: once
    context.set_alpn_protocols(["http/1.1"])
    return context


def _why(error: OSError | UnicodeError) -> str:
    """The bottom of it, in the operating system's words, without addresses."""
    match error:
        case socket.gaierror() | UnicodeError():
            return "its host name is not known"
        case ssl.SSLError():
            return "its TLS certificate or handshake is not acceptable"
        case OSError(errno=int() as number) if number > 0:
            return os.strerror(number).lower()  # the error's own words are the event loop's, with addresses
        case _:
            return "no connection"
