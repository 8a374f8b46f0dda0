"""grpc.aio's server, hardened: by itself it ends, with all that is under way, when a method is called whose name is no
text.

It decodes the name of a method that is not registered in its own loop, before any handler is asked. So all methods are
registered here, and who calls another is refused without a look at its name.
"""

import asyncio
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn, TypeAlias

import grpc
from grpc import aio

Services: TypeAlias = "Mapping[str, dict[str, grpc.RpcMethodHandler[Any, Any]]]"
"""The methods of each service, by their names."""

# grpc.aio has no public way to this. Where its inside is not as it is known here, the server is as grpc.aio makes it.
_core: Any = import_module("grpc._cython.cygrpc")
_python: Any = import_module("grpc.aio._server")
_KNOWN = ("AioServer", "_MethodResolver", "_handle_rpc", "_schedule_rpc_coro", "get_working_loop")


def server(services: Services, options: Sequence[tuple[str, int]]) -> aio.Server:
    made = _hardened(options) if is_known() else aio.server(options=options)
    for service, methods in services.items():
        made.add_registered_method_handlers(service, methods)
    return made


def is_known() -> bool:
    return all(hasattr(_core, name) for name in _KNOWN) and hasattr(_core.AioServer, "_make_request_call_future")


def _hardened(options: Sequence[tuple[str, int]]) -> aio.Server:
    """As ``aio.server`` makes it, but for what becomes of unknown methods."""
    kind = type("AioServer", (_core.AioServer,), {"_make_request_call_future": _next_call})
    made: Any = object.__new__(_python.Server)
    made._loop = _core.get_working_loop()
    made._server = kind(made._loop, None, (), (), tuple(options), None)
    return made


def _next_call(server: Any, method: bytes | None) -> Any:
    """The next call of a registered method; for ``None``, of any other: that one never comes."""
    if method is not None:
        return _core.AioServer._make_request_call_future(server, method)
    return asyncio.ensure_future(_refuse_unknown(server))


async def _refuse_unknown(server: Any) -> NoReturn:
    loop, nothing = asyncio.get_running_loop(), _core._MethodResolver([], {})
    refusals: set[asyncio.Task[None]] = set()
    while True:
        call = await server._request_call()
        refusing = _core._handle_rpc("?", nothing, (), call, loop, False)
        refusal = loop.create_task(_core._schedule_rpc_coro(refusing, call, loop, "?"))
        refusals.add(refusal)
        refusal.add_done_callback(refusals.discard)
