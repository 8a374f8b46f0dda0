"""The streaming-chat article's service on gRPC, gRPC-Web and Connect, called by a client made from its own proto."""

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.matrix.provider import Provider
from tests.matrix.server import Server, clean_environment, serving
from tests.transports.sockets import prompt, script_by_prompt
from tests.upstream import Gate, close, done, error_reply, finish, head, reasoning, silence, text
from tests.upstream import answer as says

pytestmark = pytest.mark.anyio

PROTO = """
syntax = "proto3";
package stream;
service ResponseStreamingService { rpc stream(UserRequest) returns (stream LlmResponse); }
message UserRequest { string prompt = 1; }
message LlmResponse { string llm_content = 1; }
"""
WIRES = [
    *("grpc", "application/grpc-web+proto", "application/grpc-web-text+proto"),
    *("application/connect+proto", "application/connect+json"),
]
PIECES = ["a\r\n", "\r", "\nb", "data: x", "None", "Response ", ": ", "\u2028", "\0", "🙂"]

each_wire = pytest.mark.parametrize("wire", WIRES)


@dataclass(frozen=True, slots=True)
class Client:
    folder: Path

    async def calls(self, server: Server, wire: str, words: str = "hi", *more: str) -> dict[str, Any]:
        """How the pieces came, and the end."""
        port = server.grpc_port if wire == "grpc" else server.port
        command = [sys.executable, "client.py", wire, f"127.0.0.1:{port}", words, *more]
        process = await asyncio.create_subprocess_exec(
            *command, cwd=self.folder, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        return json.loads(out)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    folder = tmp_path_factory.mktemp("client")
    (folder / "stream.proto").write_text(PROTO)
    (folder / "client.py").write_text((Path(__file__).parent / "article_client.py.txt").read_text())
    generate = [sys.executable, "-m", "grpc_tools.protoc", "-I.", "--python_out=.", "--grpc_python_out=."]
    subprocess.run([*generate, "stream.proto"], cwd=folder, check=True)
    return Client(folder)


@pytest.fixture(autouse=True)
async def afresh(provider: Provider, article_server: Server) -> None:
    await provider.begin()
    article_server.log.new()


@each_wire
async def test_the_whole_answer_comes_byte_for_byte_and_its_end_is_ok(
    article_server: Server, provider: Provider, client: Client, wire: str
) -> None:
    provider.script(head(), reasoning("hm"), *map(text, PIECES), finish("length"), done())
    came = await client.calls(article_server, wire, '{"prompt": "x"}')
    assert ("".join(came["pieces"]), came["code"]) == ("".join(PIECES), "OK")
    asked = (await provider.requested()).request.json
    assert asked["messages"] == [{"role": "user", "content": '{"prompt": "x"}'}]
    assert (asked["seed"], asked["temperature"]) == (42, 1)
    assert asked.get("max_completion_tokens", asked.get("max_tokens")) == 100


@each_wire
async def test_a_failure_is_a_status_before_the_answer_and_within_it(
    article_server: Server, provider: Provider, client: Client, wire: str
) -> None:
    provider.script(error_reply(429, "slow down"))
    provider.script(head(), text("Hel"), close())
    early, late = [await client.calls(article_server, wire) for _ in range(2)]
    assert (early["pieces"], early["code"]) == ([], "RESOURCE_EXHAUSTED")
    assert (late["pieces"], late["code"]) == (["Hel"], "UNAVAILABLE")


@pytest.mark.parametrize("wire", WIRES[1:])
async def test_an_empty_message_is_a_sign_of_life(
    article_server: Server, provider: Provider, client: Client, wire: str
) -> None:
    gate = Gate()
    provider.script(head(), gate.wait(), text("Hello"), finish("stop"), done())
    calling = asyncio.create_task(client.calls(article_server, wire))
    await gate.reached()
    await asyncio.sleep(0.8)  # the hold is over after 0.3 s, and silence lasts 0.1 s
    gate.open()
    *beats, piece = (await calling)["pieces"]
    assert len(beats) >= 2
    assert ("".join(beats), piece) == ("", "Hello")


async def test_a_caller_who_cancels_closes_the_providers_connection(
    article_server: Server, provider: Provider, client: Client
) -> None:
    script_by_prompt(provider, leave=(head(), text("Hel"), silence()))
    came = await client.calls(article_server, "grpc", "leave", "leave")
    assert (came["pieces"], came["code"]) == (["Hel"], "CANCELLED")
    exchange = await provider.requested()
    assert prompt(exchange) == "leave"
    await exchange.client_left(within=1.0)


async def test_a_default_that_is_not_served_is_told_by_each_wire(
    environment: dict[str, str], provider: Provider, client: Client, tmp_path: Path
) -> None:
    provider.always(says("Hello"))
    app = tmp_path / "app.py"
    app.write_text("from deltawire import function\n\n@function\ndef other(a: str) -> str: return a\n")
    with serving(tmp_path, environment, app) as server:
        came = [await client.calls(server, wire) for wire in WIRES]
        assert [each["code"] for each in came] == ["NOT_FOUND"] * len(WIRES)
        assert "set article_function" in came[0]["message"]
        assert [line["outcome"] for line in server.runs_logged()] == ["unknown_function"] * len(WIRES)
    assert provider.exchanges == []
