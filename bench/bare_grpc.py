"""The gRPC server that deltawire is measured against: grpc.aio as anybody would write it, and nothing else.

It serves ``Stream`` of the same service with messages of the same text at the same pace as the upstream sends them, one
for each token in bursts too. It has no upstream, decides nothing and checks nothing: what is left is what grpc.aio
itself costs. How many tokens at which pace, the caller says.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncGenerator

import grpc.aio
import uvloop
from typing_extensions import override

from bench.tokens import MOST, token
from deltawire.v1 import functions_pb2 as pb
from deltawire.v1 import functions_pb2_grpc as stubs

_TEXTS = [token(number) for number in range(MOST)]


class _Functions(stubs.FunctionsServicer):
    @override
    async def Stream(self, request: pb.RunRequest, context: object) -> AsyncGenerator[pb.Event]:
        asked = json.loads(request.input_json)
        loop = asyncio.get_running_loop()
        due = loop.time()
        for text in _TEXTS[: asked["tokens"]]:
            if asked["rate"]:
                await asyncio.sleep(due - loop.time())
                due += 1 / asked["rate"]
            yield pb.Event(text=text)


async def _serve(port: int) -> None:
    server = grpc.aio.server()  # pyright: ignore[reportUnknownMemberType] (half of its types are unknown)
    stubs.add_FunctionsServicer_to_server(_Functions(), server)  # pyright: ignore[reportUnknownMemberType] (generated)
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.bare_grpc")
    parser.add_argument("port", type=int)
    uvloop.run(_serve(parser.parse_args().port))
