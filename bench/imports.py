"""What it costs to start: CPU time of whole processes, by turns, as the operating system counts it when they end.

``lambda`` is what a cold start does before its first event (``lambda_path.py``): deltawire imported, settings read, an
engine built, whose provider's key is an SSM parameter, fetched from a server of this process. ``openai+boto3`` imports
the two and fetches the same parameter from the same server; it builds no client of OpenAI's yet. ``help`` is
``deltawire --help``, beside ``import fastapi`` alone. ``serve`` lasts from the start of ``deltawire serve`` until
``/healthz`` answers, with both ports open; its CPU time is counted in ticks of 10 ms.

All rows are of one Python and one environment. Not measured: reading files that are not in the system's cache, and the
compiling of Python: a start before the rounds does both.
"""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from bench.cpu import on_core, tree_seconds
from bench.results import Figure, Metric, spread

NAME = "imports"
METRICS = (
    Metric(NAME, "cpu_ms", "CPU", "ms", 0),
    Metric(NAME, "wall_ms", "time", "ms", 0),
)
LABELS = {
    "lambda": "deltawire without a server, with a key from SSM",
    "openai+boto3": "`import openai, boto3`, and the same key",
    "help": "`deltawire --help`",
    "fastapi": "`import fastapi`",
    "serve": "`deltawire serve`, until `/healthz` answers",
}
_BIN = Path(sys.executable).parent
_HERE = Path(__file__).parent
_WITHIN = 60.0
_BOTH = """
import openai, boto3
boto3.client("ssm").get_parameter(Name="/bench/key", WithDecryption=True)["Parameter"]["Value"]
"""
_FOUND = b'{"Parameter":{"Name":"/bench/key","Type":"SecureString","Value":"sk-bench","Version":1}}'


class Limit(NamedTuple):
    """A start may cost so much of another's."""

    row: str
    share: float
    other: str


LIMITS = (Limit("lambda", 0.5, "openai+boto3"), Limit("help", 0.5, "fastapi"))


class Row(NamedTuple):
    command: Sequence[str]
    environment: Mapping[str, str]
    counted: Callable[[subprocess.Popen[bytes], float], Figure]


async def measure(rounds: int, core: int | None = None) -> dict[str, list[Figure]]:
    """A figure for each row and round, the starts pinned to that core."""
    found: dict[str, list[Figure]] = {}
    async with _ssm() as port:
        rows = _rows(port)
        for row in rows.values():  # whatever is compiled or read for the first time
            await asyncio.to_thread(start, row, core)
        for _ in range(rounds):
            for name, row in rows.items():
                found.setdefault(name, []).append(await asyncio.to_thread(start, row, core))
    return found


def verdicts(figures: Mapping[str, Sequence[Figure]]) -> list[str]:
    """A line for each limit; each ends in ``pass`` or ``miss``."""
    lines: list[str] = []
    for row, share, other in LIMITS:
        ours, theirs = spread(figures.get(row, ()), "cpu_ms"), spread(figures.get(other, ()), "cpu_ms")
        if ours is None or theirs is None:
            lines.append(f"verdict: start of {row}: no figure beside {other}: miss")
            continue
        ratio = ours.median / theirs.median
        said = f"{ours.median:.0f} ms of CPU, {ratio:.2f} of {other}'s {theirs.median:.0f}"
        lines.append(
            f"verdict: start of {row}: {said}; target at most {share:g}: {'pass' if ratio <= share else 'miss'}"
        )
    return lines


def _rows(port: int) -> dict[str, Row]:
    aws = {
        "AWS_ACCESS_KEY_ID": "AKIABENCH",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",  # boto3 knows only this one
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
    }
    azure = {
        "DELTAWIRE_MODEL": "azure:bench",
        "AZURE_OPENAI_ENDPOINT": "https://bench.openai.azure.com",
        "DELTAWIRE_PROVIDERS__AZURE__API_KEY": "ssm:/bench/key",
    }
    http, grpc = _free_port(), _free_port()
    serve = [str(_BIN / "deltawire"), "serve", str(_HERE / "app.py"), "--port", str(http), "--grpc-port", str(grpc)]
    return {
        "lambda": Row([sys.executable, "-m", "bench.lambda_path"], {**aws, **azure}, whole),
        "openai+boto3": Row([sys.executable, "-c", _BOTH], aws, whole),
        "help": Row([str(_BIN / "deltawire"), "--help"], {}, whole),
        "fastapi": Row([sys.executable, "-c", "import fastapi"], {}, whole),
        "serve": Row(serve, {"DELTAWIRE_MODEL": "openai:m", "OPENAI_API_KEY": "k"}, _until_it_answers(http)),
    }


def start(row: Row, core: int | None = None) -> Figure:
    """One start, counted in the way of its row; whatever is left of it is ended."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    with on_core(core) if core is not None else contextlib.nullcontext():
        began = time.monotonic()
        process = subprocess.Popen(
            row.command,
            cwd=_HERE.parent,
            env={**kept, **row.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
    try:
        return row.counted(process, began)
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def whole(process: subprocess.Popen[bytes], began: float) -> Figure:
    """Of a process that ends by itself."""
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return Figure(fault=f"it ended with {process.returncode}: {said.decode(errors='replace')[-300:].strip()}")
    return _figure(used.ru_utime + used.ru_stime, began)


def _until_it_answers(port: int) -> Callable[[subprocess.Popen[bytes], float], Figure]:
    def until(process: subprocess.Popen[bytes], began: float) -> Figure:
        while time.monotonic() - began < _WITHIN and process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0) as asking:
                asking.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
                if asking.recv(4096).startswith(b"HTTP/1.1 200"):
                    return _figure(tree_seconds(process.pid), began)
            time.sleep(0.005)
        return Figure(fault="it did not answer")

    return until


def _figure(cpu: float, began: float) -> Figure:
    return Figure(values={"cpu_ms": cpu * 1000, "wall_ms": (time.monotonic() - began) * 1000})


@asynccontextmanager
async def _ssm() -> AsyncGenerator[int]:
    """A store with one parameter, which asks nobody who they are."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError), contextlib.closing(writer):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(head.partition(b"content-length:")[2].split(None, 1)[0]))
                kind = b"content-type: application/x-amz-json-1.1"
                writer.write(b"HTTP/1.1 200 OK\r\n%b\r\ncontent-length: %d\r\n\r\n%b" % (kind, len(_FOUND), _FOUND))
                await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1")
    async with server:
        yield server.sockets[0].getsockname()[1]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def lines(figures: Mapping[str, Sequence[Figure]]) -> list[str]:
    """One for each row, for a terminal."""
    said: list[str] = []
    for name, rounds in figures.items():
        said += [f"  {name:<13} FAILED: {fault}" for fault in {figure.fault for figure in rounds} if fault is not None]
        cpu, wall = spread(rounds, "cpu_ms"), spread(rounds, "wall_ms")
        if cpu is not None and wall is not None:
            spent = f"{cpu.median:6.0f} ms of CPU ({cpu.least:.0f}–{cpu.most:.0f})"
            said.append(f"  {name:<13} {spent}  in {wall.median:.0f} ms")
    return said
