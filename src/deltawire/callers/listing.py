"""Which functions a deployment has."""

from typing import Any

import msgspec

from deltawire.callers.answer import Answer, CallFailedError
from deltawire.callers.deployment import Deployment
from deltawire.callers.line import Line


class Listed(msgspec.Struct):
    name: str
    input: dict[str, Any]
    """JSON Schema."""


class _Listing(msgspec.Struct):
    functions: list[Listed]


async def listed(deployment: Deployment, *, over_grpc: bool) -> list[Listed]:
    """In their order. Raises ``CallFailedError``."""
    if over_grpc:
        from deltawire.callers.grpc import GrpcCaller

        asking = GrpcCaller(deployment)
        try:
            return [Listed(one.name, msgspec.json.decode(one.input_schema_json)) for one in await asking.listed()]
        finally:
            await asking.close()
    line = Line(deployment)
    try:
        reply = await line.ask("GET", "/v1/functions", {"accept": "application/json"}, b"", Answer())
        body = b""
        try:
            while part := await reply.read():
                body += part
        finally:
            reply.leave()
    finally:
        await line.close()
    try:
        return msgspec.json.decode(body, type=_Listing).functions
    except msgspec.DecodeError:
        message = "GET /v1/functions answers, but not as deltawire does: is that the whole URL of a deltawire server?"
        raise CallFailedError("not_deltawire", message) from None
