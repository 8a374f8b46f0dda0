"""The WebSocket, called with ``websockets``: a client that nobody of this project wrote."""

import asyncio
import json
import os
import signal
import socket
from dataclasses import dataclass, field

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.http11 import Response
from websockets.typing import Origin, Subprotocol

from tests.matrix.notation import Call, Script, Stop
from tests.matrix.reply import Reply
from tests.matrix.server import Server
from tests.waits import LONGEST

SUBPROTOCOL = Subprotocol("deltawire.v1")
WAITS = "unconnected"
"""The function of the runs that a call finds under way."""


@dataclass(slots=True)
class _Reading:
    messages: bytearray = field(default_factory=bytearray)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)


class WsCaller:
    """Makes each call on a socket of its own; the reply is the run's messages, a line each."""

    def __init__(self, server: Server) -> None:
        self.transport = "ws"
        self._server = server

    async def call(self, call: Call, script: Script | None = None) -> Reply:
        offered = Subprotocol("soap") if call.accept == "q=0" else SUBPROTOCOL
        port = self._server.port
        url = f"ws://{call.headers.get('host', f'127.0.0.1:{port}')}{call.path or '/v1/ws'}"
        origin = Origin(call.headers["origin"]) if "origin" in call.headers else None
        try:
            async with connect(
                url, host="127.0.0.1", port=port, origin=origin, subprotocols=[offered], proxy=None
            ) as socket:
                assert socket.subprotocol == SUBPROTOCOL
                return await self._on(socket, call, script)
        except InvalidStatus as refused:
            return Reply(_head(refused.response), bytes(refused.response.body), complete=True)

    async def _on(self, socket: ClientConnection, call: Call, script: Script | None) -> Reply:
        others = [str(1 + number) for number in range(call.others)]
        if call.drains:
            others = ["2"]
        for other in others:
            await socket.send(_run(other, Call(WAITS)))
        if call.drains:
            await shuts_down(self._server)
        reading = _Reading()
        conductor = asyncio.create_task(self._conduct(script.stops if script else [], socket, reading))
        try:
            await socket.send(_message(call, "1" if call.others <= 1 else "0"))
            complete = await _read(socket, reading)
        finally:
            conductor.cancel()
            await asyncio.wait([conductor])
        for other in others:  # what they log is in the log when the call is over
            await socket.send(json.dumps({"type": "cancel", "id": other}))
        for _ in others:
            assert json.loads(await socket.recv())["reason"] == "canceled"
        came = bytes(reading.messages)
        return Reply("", came.replace(b'"id":"0"', b'"id":"1"') if call.others > 1 else came, complete)

    async def _conduct(self, stops: list[Stop], socket_: ClientConnection, reading: _Reading) -> None:
        seen = 0
        for stop in stops:
            await stop.gate.reached()
            match stop.kind:
                case "leave":
                    socket_.transport.get_extra_info("socket").shutdown(socket.SHUT_WR)
                case "cancel":
                    await socket_.send('{"type":"cancel","id":"1"}')
                case "hold":  # a ping is no message
                    stop.gate.open()
                case _:
                    async with reading.news:
                        await reading.news.wait_for(
                            lambda stop=stop, seen=seen: stop.shown_in(bytes(reading.messages[seen:]), "ws")
                        )
                        seen = len(reading.messages)
                    stop.gate.open()


async def _read(socket: ClientConnection, reading: _Reading) -> bool:
    """The messages until the terminal event. Whether it came."""
    try:
        async with asyncio.timeout(LONGEST):
            while True:
                message = await socket.recv()
                assert isinstance(message, str)
                async with reading.news:
                    reading.messages += message.encode() + b"\n"
                    reading.news.notify_all()
                if json.loads(message)["type"] in ("finished", "error"):
                    return True
    except ConnectionClosed as closed:
        if closed.rcvd is not None:
            raise  # a socket is not closed because of a run
        return False


def _message(call: Call, run: str) -> str | bytes:
    if call.body is None:
        return _run(run, call)
    try:
        return call.body.decode()
    except UnicodeDecodeError:
        return call.body


def _run(run: str, call: Call) -> str:
    return f'{{"type":"run","id":"{run}","function":"{call.function}","input":{call.input}{call.members}}}'


async def shuts_down(server: Server) -> None:
    """Return when the server, told to stop, has begun to: it accepts no more connections."""
    os.kill(server.pid, signal.SIGTERM)
    async with asyncio.timeout(20):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            except ConnectionRefusedError:
                return
            except ConnectionResetError:  # was in the queue when that was closed
                continue
            writer.close()


def _head(response: Response) -> str:
    lines = [f"HTTP/1.1 {response.status_code} {response.reason_phrase}"]
    fields = [(name.lower(), value) for name, value in response.headers.raw_items()]
    assert [name for name, _ in fields].count("date") == 1
    return "\n".join([*lines, *(f"{name}: {value}" for name, value in fields if name != "date"), ""])
