"""The gRPC server that deltawire is measured against: grpc.aio as anybody would write it, and nothing else.

It serves ``Stream`` of the same service with messages of the same text at the same pace as the upstream sends them. It
has no upstream, decides nothing and checks nothing: what is left is what grpc.aio itself costs.
"""

import argparse
import asyncio
from collections.abc import AsyncGenerator

import grpc.aio
import uvloop
from typing_extensions import override

from bench.tokens import token
from deltawire.v1 import functions_pb2 as pb
from deltawire.v1 import functions_pb2_grpc as stubs


class _Functions(stubs.FunctionsServicer):
    def __init__(self, tokens: int, rate: int) -> None:
        self._texts = [token(number) for number in range(tokens)]
        self._pause = 1 / rate

    @override
    async def Stream(self, request: pb.RunRequest, context: object) -> AsyncGenerator[pb.Event]:
        loop = asyncio.get_running_loop()
        due = loop.time()
        for text in self._texts:
            await asyncio.sleep(due - loop.time())
            due += self._pause
            yield pb.Event(text=text)


async def _serve(port: int, tokens: int, rate: int) -> None:
    server = grpc.aio.server()  # pyright: ignore[reportUnknownMemberType] (half of its types are unknown)
    stubs.add_FunctionsServicer_to_server(_Functions(tokens, rate), server)  # pyright: ignore[reportUnknownMemberType] (generated)
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.bare_grpc")
    parser.add_argument("port", type=int)
    parser.add_argument("tokens", type=int, help="how many each stream sends")
    parser.add_argument("rate", type=int, help="tokens a second in each stream")
    options = parser.parse_args()
    uvloop.run(_serve(options.port, options.tokens, options.rate))
