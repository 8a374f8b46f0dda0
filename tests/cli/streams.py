"""Callers of one function over four wires, each on a connection of its own: which process answers them, and how it
ends."""

import asyncio
import json
import struct
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import httpx
from grpc import aio
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from deltawire.v1 import functions_pb2 as pb
from tests.matrix.ws_caller import SUBPROTOCOL
from tests.transports.grpc_port.caller import functions, reason
from tests.transports.rpc import NO_TLS, STREAM, connect_failure, enveloped

FUNCTION = "speak"
Ports = tuple[int, int]
"""Of HTTP and of gRPC."""
Event = tuple[str, str]
"""``text`` and what it says, ``finished``, or ``error`` and its reason."""

_PATIENCE = 30.0


class Call:
    """A run that is under way from when it is made."""

    def __init__(self, wire: str, ports: Ports, message: str) -> None:
        self.wire = wire
        self.first: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """The first piece of the answer."""
        self.end = asyncio.create_task(self._follow(WIRES[wire](ports, message)))
        """``finished``, the reason of its error, or ``broken`` where the connection broke."""

    async def begun(self) -> str:
        """The first piece, once it has come."""
        await asyncio.wait([self.first, self.end], timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        assert self.first.done(), f"no content over {self.wire}: {self.end}"
        return self.first.result()

    async def leave(self) -> None:
        """When the first piece has come."""
        await self.begun()
        self.end.cancel()
        await asyncio.wait([self.end])

    async def _follow(self, events: AsyncGenerator[Event]) -> str:
        end = "cut short"
        try:
            async with aclosing(events), asyncio.timeout(_PATIENCE):
                async for kind, said in events:
                    if kind != "text":
                        end = said or kind
                    elif not self.first.done():
                        self.first.set_result(said)
        except (httpx.TransportError, ConnectionClosed):
            return "broken"
        except aio.AioRpcError as error:
            return reason(error).reason if "grpc-status-details-bin" in dict(error.trailing_metadata()) else "broken"
        return end


async def _sse(ports: Ports, message: str) -> AsyncGenerator[Event]:
    url = f"http://127.0.0.1:{ports[0]}/v1/functions/{FUNCTION}"
    kind = ""
    async with (
        httpx.AsyncClient(verify=NO_TLS, trust_env=False, timeout=_PATIENCE) as client,
        client.stream("POST", url, json={"input": message}, headers={"accept": "text/event-stream"}) as reply,
    ):
        async for line in reply.aiter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                kind = value
            elif name == "data" and kind != "started":
                said = json.loads(value)
                yield kind, said.get("text") or said.get("reason") or ""


async def _ws(ports: Ports, message: str) -> AsyncGenerator[Event]:
    url = f"ws://127.0.0.1:{ports[0]}/v1/ws"
    async with connect(url, subprotocols=[SUBPROTOCOL], proxy=None) as socket:
        await socket.send(json.dumps({"type": "run", "id": "1", "function": FUNCTION, "input": message}))
        while True:
            event = json.loads(await socket.recv())
            if event["type"] != "started":
                yield event["type"], event.get("text") or event.get("reason") or ""
            if event["type"] in ("finished", "error"):
                return


async def _grpc(ports: Ports, message: str) -> AsyncGenerator[Event]:
    async with functions(ports[1]) as stub:
        async for event in stub.stream(_request(message)):
            if (kind := event.WhichOneof("event")) != "started":
                yield str(kind), event.text if kind == "text" else ""


async def _connect(ports: Ports, message: str) -> AsyncGenerator[Event]:
    url = f"http://127.0.0.1:{ports[0]}{STREAM}"
    body, kind = enveloped(_request(message).SerializeToString()), {"content-type": "application/connect+proto"}
    async with (
        httpx.AsyncClient(verify=NO_TLS, trust_env=False, timeout=_PATIENCE) as client,
        client.stream("POST", url, content=body, headers=kind) as reply,
    ):
        rest = b""
        async for piece in reply.aiter_raw():
            rest += piece
            while len(rest) >= 5 and len(rest) >= 5 + (size := struct.unpack(">BI", rest[:5])[1]):
                flags, payload, rest = rest[0], rest[5 : 5 + size], rest[5 + size :]
                if flags == 2:
                    if error := json.loads(payload).get("error"):
                        yield "error", connect_failure(error).reason
                elif (event := pb.Event.FromString(payload)).WhichOneof("event") != "started":
                    yield str(event.WhichOneof("event")), event.text


def _request(message: str) -> pb.RunRequest:
    return pb.RunRequest(function=FUNCTION, input_json=json.dumps(message))


WIRES: dict[str, Callable[[Ports, str], AsyncGenerator[Event]]] = {
    "sse": _sse,
    "ws": _ws,
    "grpc": _grpc,
    "connect": _connect,
}
