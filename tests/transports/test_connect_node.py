"""The official Connect clients for Node against the server: Connect in both encodings, and gRPC-Web."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc_tools
import pytest
from google.rpc import error_details_pb2

from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.node import FOLDER, Node
from tests.upstream import (
    answer,
    close,
    delay,
    done,
    error_reply,
    finish,
    head,
    reasoning,
    silence,
    text,
    usage,
)

pytestmark = pytest.mark.anyio

TRANSPORTS = ["connect", "connect_json", "grpc_web"]
HI = {"function": "chat", "inputJson": '{"message":"hi"}'}
STREAM = {"procedure": "stream", "request": HI}
END = (finish("stop"), usage(9, 2), done())
Called = dict[str, Any]

each_transport = pytest.mark.parametrize("transport", TRANSPORTS)


@pytest.fixture(scope="session")
def descriptors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The services and the details of a status, as a file of descriptors."""
    path = tmp_path_factory.mktemp("descriptors") / "descriptors.bin"
    own, common = Path(__file__).parents[2] / "proto", Path(error_details_pb2.__file__).parents[2]
    known = Path(grpc_tools.__file__).parent / "_proto"
    command = [sys.executable, "-m", "grpc_tools.protoc", *(f"-I{folder}" for folder in (own, common, known))]
    command += ["--include_imports", f"--descriptor_set_out={path}"]
    protos = ["deltawire/v1/functions.proto", "deltawire/article/stream.proto", "google/rpc/error_details.proto"]
    subprocess.run([*command, *protos], check=True)
    return path


@pytest.fixture
def client(node_modules: Node, chat_server: Server, descriptors: Path, transport: str) -> "Client":
    return Client(node_modules, chat_server, descriptors, transport)


@dataclass(frozen=True, slots=True)
class Client:
    node: Node
    server: Server
    descriptors: Path
    transport: str

    async def calls(self, *calls: Called) -> list[Called]:
        """What the client made of each call."""
        listed = json.dumps([{"transport": self.transport, **call} for call in calls])
        script = FOLDER / "connect_client.mjs"
        printed = await self.node.run(script, self.server.url, str(self.descriptors), listed)
        return [json.loads(line) for line in printed.splitlines()]


@each_transport
async def test_every_procedure_answers(client: Client, upstream: Provider) -> None:
    upstream.script(head(), reasoning("hm"), text("Hel"), text("lo \U0001f600"), *END)
    upstream.script(answer("Hel", "lo"))
    upstream.script(head(), reasoning("hm"), text("Hel"), text("lo"), *END)
    prompt = {"procedure": "article", "request": {"prompt": "hi"}}
    streamed, invoked, article, listed = await client.calls(
        STREAM, {"procedure": "invoke", "request": HI}, prompt, {"procedure": "list"}
    )
    pieces = [value for case, value in streamed["events"] if case == "text"]
    assert [case for case, _ in streamed["events"] if case != "text"] == ["started", "reasoning", "finished"]
    assert ("".join(pieces), streamed["reason"]) == ("Hello \U0001f600", "stop")
    assert invoked["finished"] == {
        "runId": invoked["header"],
        "outputJson": '"Hello"',
        "finishReason": "stop",
        "usage": {"inputTokens": 9, "outputTokens": 2},
        "attempts": 1,
    }
    assert "".join(article["pieces"]) == "Hello"
    assert listed["names"] == ["chat", "talk", "summarize", "bare", "review", "add", "compare"]
    assert "error" not in article


@each_transport
async def test_a_failure_is_thrown_with_its_reason(client: Client, upstream: Provider) -> None:
    early = [error_reply(429, "slow: ü", headers={"retry-after": "2"}), silence()]
    upstream.script(early[0])
    upstream.script(early[0])
    upstream.script(head(), text("Hel"), close())
    invoke = {"procedure": "invoke", "request": HI}
    nobody = {"procedure": "stream", "request": {**HI, "function": "nobody"}}
    came = await client.calls(STREAM, invoke, STREAM, nobody)
    for call in came:
        assert call["error"].pop("runId") == call["header"]
    limited = {
        "code": "ResourceExhausted",
        "message": "the provider 'openai' answered 429 Too Many Requests: slow: ü",
        "reason": "upstream_rate_limited",
        "partial": "false",
        "retryDelay": "2s",
    }
    cut = {
        "code": "Unavailable",
        "message": "the provider 'openai' cut its reply: connection lost",
        "reason": "upstream_truncated",
        "partial": "true",
    }
    assert [call["error"] for call in came[:3]] == [limited, limited, cut]
    assert [case for case, _ in came[2]["events"]] == ["started", "text"]
    assert (came[3]["error"]["code"], came[3]["error"]["reason"]) == ("NotFound", "unknown_function")


@each_transport
async def test_heartbeats_are_empty_events_and_leaving_closes_the_providers_connection(
    client: Client, upstream: Provider
) -> None:
    # The hold is over after 0.3 s, and a heartbeat comes each 0.1 s from then on.
    upstream.script(head(), delay(0.7), text("Hel"), silence())
    (came,) = await client.calls({**STREAM, "stop": True})
    *beats, started, piece = came["events"]
    assert len(beats) >= 2
    assert beats == [["", ""]] * len(beats)
    assert (started, piece) == (["started", ""], ["text", "Hel"])
    await (await upstream.requested()).client_left(within=1.0)


@each_transport
@pytest.mark.parametrize("procedure", ["stream", "invoke"])
async def test_the_clients_deadline_ends_the_run(client: Client, upstream: Provider, procedure: str) -> None:
    upstream.script(silence())
    (came,) = await client.calls({"procedure": procedure, "request": HI, "timeoutMs": 300})
    assert came["error"]["code"] == "DeadlineExceeded"
    await (await upstream.requested()).client_left(within=1.0)
