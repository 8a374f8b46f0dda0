"""Where a cell is played: the provider, a server or the engine, and what their logs say afterwards."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from deltawire.bootstrap.core import Core, build_core
from deltawire.bootstrap.load import load_functions
from deltawire.domain.function import Function
from deltawire.observers.log import fields
from deltawire.settings import Settings
from tests.matrix.engine_caller import EngineCaller, Records
from tests.matrix.grpc_caller import GrpcCaller
from tests.matrix.http_caller import HttpCaller
from tests.matrix.provider import Provider
from tests.matrix.rpc_http_caller import RpcHttpCaller
from tests.matrix.server import Server
from tests.matrix.transports import GRPC, RPC
from tests.matrix.ws_caller import WsCaller

Caller = HttpCaller | WsCaller | EngineCaller | GrpcCaller


@dataclass(frozen=True, slots=True)
class Matrix:
    provider: Provider
    server: Server
    core: Core
    records: Records

    def caller(self, transport: str, server: Server | None = None) -> Caller:
        """Who calls over this transport; the wires lead to ``server`` where it is another than the usual one."""
        if transport == "engine":
            return EngineCaller(self.core)
        if transport == "ws":
            return WsCaller(server or self.server)
        if transport in GRPC:
            return GrpcCaller(transport, (server or self.server).grpc_port)
        return http_caller(transport, server or self.server)

    def logged(self, transport: str, server: Server | None = None) -> list[dict[str, Any]]:
        """The lines of the runs since the last time."""
        if transport == "engine":
            return [fields(record) for record in self.records.new()]
        return (server or self.server).runs_logged()


def http_caller(transport: str, server: Server) -> HttpCaller:
    return (RpcHttpCaller if transport in RPC else HttpCaller)(transport, server.url)


def in_process(app: Path) -> tuple[Core, Records]:
    """The engine with the functions of ``app``, configured by the environment."""
    records = Records()
    return build_core(_functions(app), Settings.load(), [records]), records


@cache
def _functions(app: Path) -> dict[str, Function]:
    """They do not change, and to make their schemas takes longer than most tests."""
    return load_functions(str(app))
