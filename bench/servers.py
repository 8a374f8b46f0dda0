"""The servers that are measured: how each is started, what its callers ask, where the text is in its answer.

Another server is another entry of SERVERS.
"""

import itertools
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.load import Call
from bench.nginx import find_nginx, nginx_command
from bench.websocket import WebSocketCall, text_of

Command = Callable[[Path, int, int], list[str]]
"""A folder for the server's own files, the port to serve, the upstream's port -> the command to run."""


@dataclass(frozen=True, slots=True)
class Server:
    name: str
    command: Command
    call: Call
    environment: Callable[[int], Mapping[str, str]] = field(default=lambda _: {})
    """The upstream's port -> what the server finds in its environment besides PATH and the like."""
    missing: Callable[[], str | None] = field(default=lambda: None)
    """Why it cannot be run here, if so."""


def _data_of(body: bytes) -> list[str]:
    """The data lines of server-sent events that are written with LF and one data line each, as all of these are."""
    return [line.removeprefix("data: ") for line in body.decode().split("\n") if line.startswith("data: ")]


def _chat_completion_text(body: bytes) -> str:
    chunks = [json.loads(data) for data in _data_of(body) if data != "[DONE]"]
    return "".join(choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"])


def _function_text(body: bytes) -> str:
    lines = body.decode().split("\n")
    texts = [data for kind, data in itertools.pairwise(lines) if kind == "event: text"]
    return "".join(json.loads(data.removeprefix("data: "))["text"] for data in texts)


_CHAT_COMPLETION = {
    "model": "bench",
    "stream": True,
    "stream_options": {"include_usage": True},
    "messages": [{"role": "user", "content": "Say something long."}],
}


def _deltawire_command(_folder: Path, port: int, _upstream: int) -> list[str]:
    app = Path(__file__).with_name("app.py")
    return [sys.executable, "-m", "deltawire", "serve", str(app), "--port", str(port), "--grpc-port", "off"]


def _openai_environment(upstream: int) -> Mapping[str, str]:
    return {
        "DELTAWIRE_MODEL": "openai:bench",
        "OPENAI_API_KEY": "x",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{upstream}/v1",
    }


DELTAWIRE = Server(
    name="deltawire",
    command=_deltawire_command,
    environment=_openai_environment,
    call=Call(
        path="/v1/functions/chat",
        body=json.dumps({"input": {"message": "Say something long."}}).encode(),
        text_of=_function_text,
    ),
)

DELTAWIRE_WS = Server(
    name="deltawire-ws",
    command=_deltawire_command,
    environment=_openai_environment,
    call=WebSocketCall(
        path="/v1/ws",
        body=json.dumps(
            {"type": "run", "id": "1", "function": "chat", "input": {"message": "Say something long."}}
        ).encode(),
        text_of=text_of,
    ),
)

NGINX = Server(
    name="nginx",
    command=nginx_command,
    call=Call(
        path="/v1/chat/completions",
        body=json.dumps(_CHAT_COMPLETION).encode(),
        text_of=_chat_completion_text,
    ),
    missing=lambda: None if find_nginx() else "nginx is not installed",
)

SERVERS = (DELTAWIRE, DELTAWIRE_WS, NGINX)
