"""A server's one place for a run, taken and given back."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.matrix.notation import Call
from tests.matrix.stage import Matrix
from tests.upstream import silence


@asynccontextmanager
async def one_under_way(matrix: Matrix, transport: str) -> AsyncGenerator[None]:
    """While this is open, a run over this transport waits for its provider. Afterwards it has ended as canceled."""
    matrix.provider.script(silence())
    calling = asyncio.create_task(matrix.caller(transport).call(Call("say")))
    await matrix.provider.requested()
    try:
        yield
    finally:
        calling.cancel()
        await asyncio.wait([calling])
        await canceled(matrix, transport)


async def canceled(matrix: Matrix, transport: str) -> None:
    """Return when the log says that a run's caller has left."""
    lines = matrix.logged(transport)
    async with asyncio.timeout(20):
        while "canceled" not in [line["outcome"] for line in lines]:
            await asyncio.sleep(0.01)
            lines += matrix.logged(transport)
