"""A WebSocket on the shipped server, through ``websockets``, and an app that counts what the server holds."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.matrix.ws_caller import SUBPROTOCOL
from tests.upstream import Exchange, Request, Step, answer

Message = dict[str, Any]

COUNTING_APP = '''
import asyncio
import gc
import json
import os

from deltawire import function


@function(retries=0)
def say(message: str) -> str:
    return message


@function(retries=0)
async def census(message: str) -> str:
    """Asks the model how it likes what this process holds, without what the census itself needs."""
    gc.collect()
    with open("/proc/self/statm") as statm:
        pages = int(statm.read().split()[1])
    return json.dumps({
        "tasks": len(asyncio.all_tasks()),
        "files": len(os.listdir("/proc/self/fd")),
        "objects": len(gc.get_objects()),
        "kilobytes": pages * 4,
    })
'''


class Socket:
    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def run(self, run: str, message: str = "hi", function: str = "say") -> None:
        await self.send({"type": "run", "id": run, "function": function, "input": {"message": message}})

    async def cancel(self, run: str) -> None:
        await self.send({"type": "cancel", "id": run})

    async def send(self, message: Message) -> None:
        await self.connection.send(json.dumps(message))

    async def next(self) -> Message:
        return json.loads(await self.connection.recv())

    async def of(self, run: str) -> list[Message]:
        """The messages until the end of the run, which are all its own."""
        came = [await self.next()]
        while came[-1]["type"] not in ("finished", "error"):
            came.append(await self.next())
        assert {message["id"] for message in came} == {run}
        return came


@asynccontextmanager
async def socket(server: Server, **options: Any) -> AsyncGenerator[Socket]:
    url = f"ws://127.0.0.1:{server.port}/v1/ws"
    options = {"subprotocols": [SUBPROTOCOL], "proxy": None, "max_size": None, **options}
    async with connect(url, **options) as connection:
        yield Socket(connection)


def prompt(asked: Request | Exchange) -> str:
    request = asked.request if isinstance(asked, Exchange) else asked
    return request.json["messages"][-1]["content"]


def script_by_prompt(provider: Provider, **scripts: Sequence[Step]) -> None:
    """The provider says what is written for a prompt, and repeats any other."""
    provider.answer_with(lambda request: scripts.get(prompt(request)) or [answer(prompt(request))])


async def census(socket: Socket, provider: Provider) -> dict[str, int]:
    await socket.run("census", function="census")
    while prompt(exchange := await provider.requested())[:1] != "{":
        pass
    await socket.of("census")
    return json.loads(prompt(exchange))
