"""Connections of the server's own kind, on a socket of their own, with an app that a test brings."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from starlette.types import ASGIApp
from uvicorn.server import ServerState

from deltawire.bootstrap.connection import Connection
from deltawire.bootstrap.limits import Config
from deltawire.bootstrap.websocket_protocol import WebSocketProtocol
from deltawire.transports.http.settings import HttpSettings

USUAL = HttpSettings(write_timeout=0.2)


@asynccontextmanager
async def listening(
    app: ASGIApp, limits: HttpSettings = USUAL, keep_alive: float = 1
) -> AsyncGenerator[tuple[int, ServerState], None]:
    """Port, and what is open there."""
    config = Config(app, lifespan="off", log_config=None, ws=WebSocketProtocol, timeout_keep_alive=keep_alive)  # pyright: ignore[reportArgumentType]  (any time will do)
    config.limits = limits
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(config, state, {}), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], state
    finally:
        server.close()


async def all_ended(state: ServerState) -> None:
    async with asyncio.timeout(20):
        while state.connections:  # noqa: ASYNC110 - the server sets no event of ours
            await asyncio.sleep(0.01)
