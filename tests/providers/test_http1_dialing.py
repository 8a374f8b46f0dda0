"""Dialing: the first address that answers, TLS that is checked, failures in plain words, and no socket left behind."""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import trustme

from deltawire.domain.errors import Reason
from deltawire.providers.http1 import dialing
from deltawire.providers.http1.dialing import Address, Dialer
from deltawire.providers.http1.errors import UnreachableError
from deltawire.providers.http1.origin import Origin, origin_of
from tests.providers.asking import Signs, ask, provider_at
from tests.providers.http1 import LOOPS, turns
from tests.upstream import never_accepting_port, refused_port

pytestmark = pytest.mark.anyio

HERE = "127.0.0.1"
ANSWER = b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}'
REPLY = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return request.param


def sockets() -> int:
    fds = Path("/proc/self/fd")
    return sum(os.path.realpath(fds / fd).rpartition("/")[2].startswith("socket:") for fd in os.listdir(fds))  # noqa: PTH208


class Names:
    """Every name has these addresses."""

    def __init__(self, *addresses: tuple[str, int]) -> None:
        self._addresses = addresses
        self.asked: list[str] = []

    async def look_up(self, origin: Origin) -> list[Address]:
        self.asked.append(origin.host)
        await asyncio.sleep(0)
        if not self._addresses:
            raise socket.gaierror(socket.EAI_AGAIN, "secret.example")
        return [Address(socket.AF_INET, address) for address in self._addresses]

    def dialer(self) -> Dialer:
        return Dialer(origin_of("http://some.example"), self.look_up)


@contextmanager
def listening() -> Generator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@asynccontextmanager
async def serving(context: ssl.SSLContext) -> AsyncGenerator[int]:
    """Answers every request with a completion."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                while not (await reader.read(65536)).endswith(b"}"):
                    pass
                writer.write(REPLY)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await turns()


@pytest.fixture
def authority(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[trustme.CA]:
    """The one that this process trusts, as a system's own."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    dialing.tls.cache_clear()
    yield authority
    dialing.tls.cache_clear()


def context_of(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["h2", "http/1.1"])
    authority.issue_cert(name).configure_cert(context)  # pyright: ignore[reportUnknownMemberType]
    return context


async def dialed(dialer: Dialer) -> str:
    """The address that answered."""
    made: list[asyncio.BaseTransport] = []

    class Caller(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            made.append(transport)

    await dialer.dial(Caller)
    address = ":".join(map(str, made[0].get_extra_info("peername")[:2]))
    made[0].abort()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    await turns()
    return address


async def test_an_address_that_does_not_answer_is_overtaken_by_the_next() -> None:
    before = sockets()
    with never_accepting_port() as deaf, listening() as port:
        inside = sockets()
        began = asyncio.get_running_loop().time()
        assert await dialed(Names((HERE, deaf), (HERE, port)).dialer()) == f"{HERE}:{port}"
        assert 0.2 < asyncio.get_running_loop().time() - began < 2
        await turns()
        assert sockets() == inside
    assert sockets() == before


async def test_an_address_that_refuses_is_followed_by_the_next_at_once() -> None:
    with refused_port() as refused, listening() as port:
        began = asyncio.get_running_loop().time()
        assert await dialed(Names((HERE, refused), (HERE, port)).dialer()) == f"{HERE}:{port}"
        assert asyncio.get_running_loop().time() - began < 0.2


async def test_a_host_of_which_no_address_answers_says_why_and_is_looked_up_anew() -> None:
    before = sockets()
    with refused_port() as first, refused_port() as second:
        names = Names((HERE, first), (HERE, second))
        dialer = names.dialer()
        for _ in range(2):
            with pytest.raises(UnreachableError, match=r"^connection refused$"):
                await dialed(dialer)
        assert len(names.asked) == 2
    assert sockets() == before


async def test_a_host_is_looked_up_once_for_all_and_its_addresses_are_used_by_turns() -> None:
    with listening() as port:
        addresses = [(f"127.0.0.{number}", port) for number in (1, 2, 3)]
        with socket.create_server(addresses[1]), socket.create_server(addresses[2]):
            names = Names(*addresses)
            dialer = names.dialer()
            found = await asyncio.gather(*(dialed(dialer) for _ in range(6)))
            assert sorted(found) == sorted(f"{address}:{port}" for address, _ in addresses * 2)
            assert names.asked == ["some.example"]


def test_families_take_turns_and_the_systems_first_choice_stays_the_first() -> None:
    found = [Address(family, (name, 1)) for family, name in zip((10, 10, 2, 2, 2), "abcde", strict=True)]
    in_turns = ["".join(str(where[0]) for _, where in dialing.in_turns(found, turn)) for turn in range(3)]
    assert in_turns == ["acbde", "bdaec", "aebcd"]


@pytest.mark.parametrize("turns_before", range(6))
async def test_a_dial_that_is_cancelled_leaves_no_socket(turns_before: int) -> None:
    with never_accepting_port() as deaf, listening() as port:
        before = sockets()
        for ports in ([deaf], [deaf, deaf], [port], [port, port], [deaf, port]):
            await cancelled_after(turns_before, Names(*((HERE, each) for each in ports)).dialer())
            assert sockets() == before
        await cancelled_after(turns_before, Dialer(origin_of(f"http://127.0.0.1:{port}")))
        assert sockets() == before


@pytest.mark.parametrize("turns_before", range(12))
async def test_a_handshake_that_is_cancelled_leaves_no_socket(authority: trustme.CA, turns_before: int) -> None:
    async with serving(context_of(authority, "127.0.0.1")) as port:
        before = sockets()
        await cancelled_after(turns_before, Dialer(origin_of(f"https://127.0.0.1:{port}")))
        for _ in range(100):
            if sockets() == before:
                break
            await asyncio.sleep(0.01)  # the server's own end
        assert sockets() == before
    with listening() as mute:  # it takes the connection and says nothing
        before = sockets()
        await cancelled_after(turns_before, Dialer(origin_of(f"https://127.0.0.1:{mute}")))
        assert sockets() == before


async def cancelled_after(turns_before: int, dialer: Dialer) -> None:
    dialing = asyncio.ensure_future(dialed(dialer))
    for _ in range(turns_before):
        await asyncio.sleep(0)
    dialing.cancel()
    await asyncio.wait([dialing])
    await dialer.close()
    for _ in range(3):
        await turns()


async def test_a_server_with_a_certificate_of_a_known_authority_is_asked(authority: trustme.CA) -> None:
    async with (
        serving(context_of(authority, "127.0.0.1")) as port,
        provider_at(f"https://127.0.0.1:{port}/v1") as provider,
    ):
        signs = Signs()
        for _ in range(2):
            assert (await ask(provider, signs=signs)).text == "hi"
        assert (signs.connecting_seen, signs.connected_seen) == (1, 1)


@pytest.mark.parametrize("fault", ["name", "authority"])
async def test_a_certificate_that_does_not_fit_is_unreachable(authority: trustme.CA, fault: str) -> None:
    name = "127.0.0.1" if fault == "authority" else "other.example"
    context = context_of(trustme.CA() if fault == "authority" else authority, name)
    async with serving(context) as port, provider_at(f"https://127.0.0.1:{port}/v1") as provider:
        failure = (await ask(provider)).failure
    assert (failure.reason, failure.retry_safe) == (Reason.upstream_unreachable, True)
    assert failure.message == (
        "the provider 'up' cannot be reached: its TLS certificate or handshake is not acceptable"
    )


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""], ids=["speaks HTTP", "hangs up"])
async def test_a_server_without_tls_fails_the_handshake_and_leaves_no_socket(said: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(said)
        writer.close()

    before = sockets()
    server = await asyncio.start_server(answer, HERE, 0)
    for _ in range(3):
        with pytest.raises(UnreachableError):
            await dialed(Dialer(origin_of(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")))
    server.close()
    await turns()
    assert sockets() == before


async def test_opening_counts_as_connecting_until_the_handshake_is_done() -> None:
    with listening() as mute:
        signs = Signs()
        async with provider_at(f"https://127.0.0.1:{mute}/v1") as provider:
            asking = asyncio.ensure_future(ask(provider, signs=signs))
            await asyncio.wait([asking], timeout=0.1)
            assert (signs.connecting_seen, signs.connected_seen) == (1, 0)
            asking.cancel()
            await asyncio.wait([asking])


async def test_a_lookup_that_fails_is_told_to_all_and_made_again() -> None:
    names = Names()
    dialer = names.dialer()
    for _ in range(2):
        failures = await asyncio.gather(*(dialed(dialer) for _ in range(3)), return_exceptions=True)
        assert [str(failure) for failure in failures] == ["its host name is not known"] * 3
    assert len(names.asked) == 2


async def test_a_lookup_that_nobody_waits_for_any_more_complains_to_nobody() -> None:
    names = Names()
    dialer = names.dialer()
    await cancelled_after(1, dialer)
    assert len(names.asked) == 1
