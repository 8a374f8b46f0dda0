"""The servers and the provider of all tests, without what the tests before have left."""

import pytest

from tests.matrix.provider import Provider
from tests.matrix.server import Server


@pytest.fixture
async def fresh(provider: Provider, server: Server, hurried_server: Server) -> None:
    await provider.begin()
    for each in (server, hurried_server):
        each.log.new()
