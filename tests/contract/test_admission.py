"""A server with one place: whoever comes second is refused at once, and the place is free as soon as a run is over."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from tests.contract.places import canceled, one_under_way
from tests.contract.visitors import HttpVisitor, visit, ways
from tests.matrix.answers import answer
from tests.matrix.notation import Call
from tests.matrix.reply import Reply
from tests.matrix.server import Server
from tests.matrix.stage import Matrix, http_caller
from tests.matrix.transports import OVER_HTTP, TRANSPORTS
from tests.upstream import done, finish, head, silence, text

pytestmark = pytest.mark.anyio

SAY = Call("say")
WIRED = [transport for transport in TRANSPORTS if transport != "engine"]

every_wire = pytest.mark.parametrize("transport", WIRED)
over_http = pytest.mark.parametrize("transport", OVER_HTTP)


@pytest.fixture
def narrow(matrix: Matrix, narrow_server: Server) -> Matrix:
    narrow_server.log.new()
    return Matrix(matrix.provider, narrow_server, matrix.core, matrix.records)


async def says(narrow: Matrix, transport: str, word: str) -> Reply:
    narrow.provider.script(head(), text(word), finish("stop"), done())
    return await narrow.caller(transport).call(SAY)


@every_wire
async def test_a_run_on_any_transport_takes_the_place_and_its_end_frees_it(narrow: Matrix, transport: str) -> None:
    async with one_under_way(narrow, transport):
        refused = await narrow.caller("json").call(SAY)
        assert refused.head.splitlines()[0] == "HTTP/1.1 429 Too Many Requests"
        assert "retry-after: 1" in refused.head.splitlines()
    for word in ("one", "two", "three"):
        assert answer(transport, await says(narrow, transport, word)) == word


@every_wire
async def test_runs_that_fail_free_the_place(narrow: Matrix, transport: str) -> None:
    for call in (Call("broken"), Call("refused"), Call("nobody"), Call("say", body=b"nonsense")) * 2:
        await narrow.caller(transport).call(call)
    assert answer(transport, await says(narrow, transport, "free")) == "free"


@over_http
async def test_whoever_is_refused_has_not_sent_its_body(narrow: Matrix, transport: str) -> None:
    async with one_under_way(narrow, "json"), sent(narrow.server, head_of(transport, narrow.server)) as (reader, _):
        async with asyncio.timeout(2):
            came = await reader.readuntil(b"\r\n\r\n")
        assert b"deltawire-run-id: " in came
    assert answer(transport, await says(narrow, transport, "free")) == "free"


@over_http
@pytest.mark.parametrize("way", ["close", "reset"])
async def test_a_caller_who_leaves_in_the_middle_of_its_body_frees_the_place(
    narrow: Matrix, transport: str, way: str
) -> None:
    async with sent(narrow.server, head_of(transport, narrow.server) + b"{") as (reader, writer):
        await refused(narrow)
        HttpVisitor(reader, writer).leave(way)
        await canceled(narrow, transport)
    assert answer(transport, await says(narrow, transport, "free")) == "free"


@pytest.mark.parametrize("transport", [transport for transport in WIRED if transport != "ws"])
async def test_a_caller_who_leaves_frees_the_place(narrow: Matrix, transport: str) -> None:
    for way in ways(transport):
        for steps in ([silence()], [head(), silence()], [head(), text("a"), silence()]):
            narrow.provider.script(*steps)
            visitor = await visit(transport, narrow.server, SAY)
            exchange = await narrow.provider.requested()
            visitor.leave(way)
            await exchange.client_left(within=1.0)
            await canceled(narrow, transport)
            visitor.close()
    assert answer(transport, await says(narrow, transport, "free")) == "free"


async def refused(narrow: Matrix) -> None:
    """Return when the place is taken: a request is not, until its head has been read."""
    async with asyncio.timeout(5):
        while True:
            reply = await narrow.caller("json").call(Call("nobody"))
            if " 429 " in reply.head:
                return


def head_of(transport: str, server: Server) -> bytes:
    """The head of a call, whose body is announced."""
    request = http_caller(transport, server).request(SAY)
    lines = [f"POST {request.url.raw_path.decode()} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


@asynccontextmanager
async def sent(server: Server, request: bytes) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(request)
    try:
        yield reader, writer
    finally:
        writer.close()
