"""Callers on WebSockets: many runs at once on one, and some alone that are left, reset or clogged."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from tests.contract.visitors import end_transport
from tests.matrix.server import Server
from tests.matrix.ws_caller import SUBPROTOCOL
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from soak.play import Manner, Play, Seen
from soak.provider import Provider
from soak.seen import seen_in_article, seen_in_events

_SOCKETS = 3
_PATIENCE = 20.0


class WsCaller:
    """Runs on ``/v1/ws``."""

    def __init__(self, server: Server, provider: Provider, random: Random) -> None:
        self._url = f"ws://127.0.0.1:{server.port}/v1/ws"
        self._provider = provider
        self._random = random
        self._shared: list[_Shared] = []
        self._opening = asyncio.Lock()
        self.strays: list[str] = []
        """Messages of runs that were over, or that nobody had asked for."""

    async def call(self, key: str, play: Play) -> Seen:
        match play.manner:
            case Manner.reads | Manner.leaves_at_the_end if play.call.body is None:
                return await self._share(key, play)
            case _:
                return await self._alone(key, play)

    async def close(self) -> None:
        for shared in self._shared:
            await shared.close()
        self._shared.clear()

    async def _share(self, key: str, play: Play) -> Seen:
        async with self._opening:
            if len(self._shared) < _SOCKETS:
                self._shared.append(_Shared(await self._connect(), self.strays))
        shared = self._random.choice(self._shared)
        call = shared.begin(key)
        await shared.connection.send(_message(key, play))
        if play.leaves:  # takes back the run, which then says so, and not the socket
            await play.gate.reached(within=_PATIENCE)
            play.gate.open()
            await asyncio.sleep(self._random.choice((0, 0, 0.001, 0.002, 0.005)))
            await shared.connection.send(json.dumps({"type": "cancel", "id": key}))
        await call.over.wait()
        return seen_in_events(call.came, str(call.came))

    async def _alone(self, key: str, play: Play) -> Seen:
        async with alone(await self._connect()) as connection:
            if play.manner is Manner.sends_bytes:
                return await _send_bytes(connection, play)
            if play.manner is Manner.takes_nothing:
                connection.transport.pause_reading()
            await connection.send(play.call.body.decode() if play.call.body is not None else _message(key, play))
            if play.manner is Manner.takes_nothing:
                await self._provider.given_up(key, within=_PATIENCE)
                return Seen(cut=True)
            if play.leaves:
                await play.gate.reached(within=_PATIENCE)
                if play.manner is Manner.leaves_at_content:
                    await connection.recv()
                end_transport(connection.transport, "reset" if play.resets else "close")
                return Seen(left=True)
            event = json.loads(await connection.recv())
            return seen_in_events([event], str(event))

    async def _connect(self) -> ClientConnection:
        return await connect(self._url, subprotocols=[SUBPROTOCOL], proxy=None, max_size=None, ping_interval=None)


class ArticleWsCaller:
    """One prompt on a socket of its own at ``/ws``."""

    def __init__(self, server: Server, provider: Provider) -> None:
        self._url = f"ws://127.0.0.1:{server.port}/ws"
        self._provider = provider

    async def call(self, key: str, play: Play) -> Seen:
        opening = connect(self._url, proxy=None, max_size=None, ping_interval=None)
        async with alone(await opening) as connection:
            if play.manner is Manner.takes_nothing:
                connection.transport.pause_reading()
            await connection.send(json.loads(play.call.input)["message"])
            if play.manner is Manner.takes_nothing:
                await self._provider.given_up(key, within=_PATIENCE)
                return Seen(cut=True)
            if play.leaves:
                await play.gate.reached(within=_PATIENCE)
                if play.manner is Manner.leaves_at_content:
                    await connection.recv()
                if play.manner is Manner.leaves_at_the_end:
                    play.gate.open()
                    await asyncio.sleep(0.001)
                end_transport(connection.transport, "reset" if play.resets else "close")
                return Seen(left=True)
            seen = Seen()
            while not seen.ends:
                message = await connection.recv()
                assert isinstance(message, str)
                seen.raw += message
                seen_in_article(message, seen)
            return seen


class _Call:
    def __init__(self) -> None:
        self.came: list[dict[str, Any]] = []
        self.over = asyncio.Event()


class _Shared:
    """One socket, and the runs on it."""

    def __init__(self, connection: ClientConnection, strays: list[str]) -> None:
        self.connection = connection
        self._strays = strays
        self._calls: dict[str, _Call] = {}
        self._reading = asyncio.create_task(self._read())

    def begin(self, key: str) -> _Call:
        self._calls[key] = call = _Call()
        return call

    async def close(self) -> None:
        await self.connection.close()
        await self._reading

    async def _read(self) -> None:
        try:
            async for message in self.connection:
                event = json.loads(message)
                call = self._calls.get(event.get("id"))
                if call is None:
                    self._strays.append(str(message))
                    continue
                call.came.append(event)
                if event["type"] in ("finished", "error"):
                    call.over.set()
                    del self._calls[event["id"]]
        except ConnectionClosed as closed:
            self._strays.append(f"a socket ended with runs under way: {closed}")


async def _send_bytes(connection: ClientConnection, play: Play) -> Seen:
    connection.transport.write(play.sent)
    try:
        await connection.recv()
    except ConnectionClosed:
        return Seen(cut=True)
    return Seen()


def _message(key: str, play: Play) -> str:
    call = play.call
    return f'{{"type":"run","id":"{key}","function":"{call.function}","input":{call.input}{call.members}}}'


@asynccontextmanager
async def alone(connection: ClientConnection) -> AsyncGenerator[ClientConnection]:
    """A socket that ends at once with what is done on it, however that ends."""
    try:
        yield connection
    finally:
        connection.transport.abort()
        await connection.wait_closed()
