"""Which functions a deployment has."""

import asyncio
from typing import Any

import msgspec

from deltawire.callers.answer import Answer, CallFailedError
from deltawire.callers.deployment import Deployment
from deltawire.callers.line import Line

_LONGEST = 16 * 1024 * 1024


class Listed(msgspec.Struct):
    name: str
    input: dict[str, Any]
    """JSON Schema."""


class _Listing(msgspec.Struct):
    functions: list[Listed]


async def listed(deployment: Deployment, seconds: float, *, over_grpc: bool) -> list[Listed]:
    """In their order. Raises ``CallFailedError``, also when it takes longer than so many ``seconds``."""
    asking = _over_grpc if over_grpc else _over_http
    try:
        async with asyncio.timeout(seconds):
            return await asking(deployment)
    except TimeoutError:
        message = f"the list of its functions did not come within {seconds:g} s: is that a deltawire server?"
        raise CallFailedError("late", message) from None
    except (msgspec.DecodeError, RecursionError):
        raise _not_ours() from None


async def _over_grpc(deployment: Deployment) -> list[Listed]:
    from deltawire.callers.grpc import GrpcCaller

    asking = GrpcCaller(deployment)
    try:
        functions = await asking.listed()
    finally:
        await asking.close()
    return [Listed(one.name, msgspec.json.decode(one.input_schema_json, type=dict[str, Any])) for one in functions]


async def _over_http(deployment: Deployment) -> list[Listed]:
    line = Line(deployment)
    try:
        reply = await line.ask("GET", "/v1/functions", {"accept": "application/json"}, b"", Answer())
        body = bytearray()
        try:
            while part := await reply.read():
                body += part
                if len(body) > _LONGEST:
                    raise _not_ours()
        finally:
            reply.leave()
    finally:
        await line.close()
    return msgspec.json.decode(body, type=_Listing).functions


def _not_ours() -> CallFailedError:
    message = "GET /v1/functions answers, but not as deltawire does: is that the whole URL of a deltawire server?"
    return CallFailedError("not_deltawire", message)
