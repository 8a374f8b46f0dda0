"""Connect and gRPC-Web as bytes: requests put together and replies taken apart, by hand."""

import base64
import struct
from dataclasses import dataclass

import httpx

from deltawire.v1 import functions_pb2 as pb
from tests.matrix.server import Server

STREAM = "/deltawire.v1.Functions/Stream"
INVOKE = "/deltawire.v1.Functions/Invoke"
LIST = "/deltawire.v1.Functions/List"
ARTICLE = "/stream.ResponseStreamingService/stream"

HI = pb.RunRequest(function="say", input_json='{"message":"hi"}')
HI_JSON = b'{"function":"say","inputJson":"{\\"message\\":\\"hi\\"}"}'

Frame = tuple[int, bytes]


def enveloped(message: bytes, flags: int = 0) -> bytes:
    return struct.pack(">BI", flags, len(message)) + message


def frames(body: bytes) -> list[Frame]:
    """All of them, whole."""
    found: list[Frame] = []
    while body:
        flags, length = struct.unpack(">BI", body[:5])
        assert len(body) >= 5 + length
        found.append((flags, body[5 : 5 + length]))
        body = body[5 + length :]
    return found


def decoded(body: bytes) -> bytes:
    """Base64 whose parts may have been padded each."""
    return b"".join(base64.b64decode(body[at : at + 4], validate=True) for at in range(0, len(body), 4))


@dataclass(slots=True)
class Rpc:
    """Calls a server."""

    client: httpx.AsyncClient

    async def post(self, path: str, content_type: str, body: bytes, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post(path, content=body, headers={"content-type": content_type, **named})


def calling(server: Server) -> Rpc:
    return Rpc(httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=10))
