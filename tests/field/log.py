"""What the log says of runs that nobody waits for."""

from tests.matrix.server import Server


async def outcomes(server: Server, count: int) -> list[str]:
    """Those of the runs whose lines come soon: so many, or more."""
    return [line["outcome"] for line in await server.logged(count)]
