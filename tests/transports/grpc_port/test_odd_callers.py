"""What no client library sends: its caller is refused, and nobody else notices."""

import asyncio

import pytest

from deltawire.transports.grpc import aio_server
from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.transports.grpc_port.caller import functions, said
from tests.transports.grpc_port.frames import DATA, END_STREAM, RST_STREAM, begun, call, frame, frames
from tests.upstream import Gate, answer, done, finish, head, text

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("fresh")]

_SAY = said().SerializeToString()


async def test_the_inside_of_grpc_aio_is_as_it_is_known() -> None:
    """Else a method whose name is no text would end the server."""
    assert aio_server.is_known()


@pytest.mark.parametrize(
    "path", [b"/\xff", b"/deltawire.v1.Functions/\xff", b"/\xed\xa0\x80", b"/deltawire.v1.Functions/No"]
)
async def test_an_unknown_method_is_refused_whatever_its_name_is(
    server: Server, provider: Provider, path: bytes
) -> None:
    gate = Gate()
    provider.script(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), done())
    async with functions(server.grpc_port) as stub, frames(server.grpc_port) as caller:
        events = aiter(stub.stream(said()))
        assert (await anext(events)).HasField("started")
        caller.send(call(path, b""))
        assert b"grpc-status\x0212" in await caller.ended()
        gate.open()
        assert "".join([event.text async for event in events]) == "Hello"
    server.runs_logged()


async def test_metadata_that_is_no_text_is_nobodys_business(server: Server, provider: Provider) -> None:
    provider.script(answer("Hello"))
    async with frames(server.grpc_port) as caller:
        caller.send(call(b"/deltawire.v1.Functions/Invoke", _SAY, (b"x-name", b"\xff"), (b"user-agent", b"\xfe")))
        assert b"grpc-status\x010" in await caller.ended()
    server.runs_logged()


@pytest.mark.parametrize("method", ["Check", "Watch"])
async def test_health_refuses_what_is_no_message(server: Server, method: str) -> None:
    async with frames(server.grpc_port) as caller:
        caller.send(call(b"/grpc.health.v1.Health/" + method.encode(), b"\xff"))
        assert b"grpc-status\x013" in await caller.ended()
    server.runs_logged()


async def test_reflection_says_that_what_is_no_message_is_wrong(server: Server) -> None:
    async with frames(server.grpc_port) as caller:
        caller.send(call(b"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", b"\xff"))
        assert b"grpc-status\x010" in await caller.ended()
        assert b"invalid argument" in caller.data
    server.runs_logged()


@pytest.mark.parametrize("method", [b"Invoke", b"Stream", b"List"])
@pytest.mark.parametrize("sent", [b"", b"\0\0\0\0\x09abc"])
async def test_a_call_without_its_message_is_answered(server: Server, method: bytes, sent: bytes) -> None:
    async with frames(server.grpc_port) as caller:
        caller.send(begun(b"/deltawire.v1.Functions/" + method), frame(DATA, sent, flags=END_STREAM, stream=1))
        assert b"grpc-status\x013" in await caller.ended()
    [line] = server.runs_logged()
    assert (line["outcome"], line["message"]) == ("invalid_input", "the request holds no whole message; send one")


async def test_a_caller_that_leaves_without_a_message_has_called_nothing(server: Server) -> None:
    async with frames(server.grpc_port) as caller:
        caller.send(begun(b"/deltawire.v1.Functions/Stream"), frame(RST_STREAM, bytes(4), stream=1))
        await caller.pinged()
    async with frames(server.grpc_port) as caller:
        caller.send(begun(b"/deltawire.v1.Functions/Invoke"))
        await caller.pinged()
    await asyncio.sleep(0.3)  # nothing is to happen
    assert server.runs_logged() == []
