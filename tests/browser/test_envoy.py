"""The shipped recipe in a real Envoy: what it lets through, what it does not, and that it stops nobody's answer."""

import asyncio
import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import httpx
import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from grpc import aio

from deltawire.v1 import functions_pb2 as pb
from tests.browser.envoy import RECIPE, Envoy, envoy, envoy_program
from tests.matrix.provider import Provider
from tests.matrix.server import Server, serving
from tests.upstream import Gate, delay, done, error_reply, finish, head, repeat, silence, text

pytestmark = pytest.mark.anyio

SAY = pb.RunRequest(function="say", input_json='{"message":"hi"}')

SERVICE = "deltawire.v1.Functions"


class Stub:
    """What the generated stub does, with types."""

    def __init__(self, channel: aio.Channel) -> None:
        run = pb.RunRequest.SerializeToString
        self.list = channel.unary_unary(
            f"/{SERVICE}/List", pb.ListRequest.SerializeToString, pb.ListResponse.FromString
        )
        self.invoke = channel.unary_unary(f"/{SERVICE}/Invoke", run, pb.Finished.FromString)
        self.stream = channel.unary_stream(f"/{SERVICE}/Stream", run, pb.Event.FromString)


@asynccontextmanager
async def calling(proxy: Envoy) -> AsyncGenerator[Stub]:
    """Native gRPC through the proxy."""
    async with aio.insecure_channel(f"127.0.0.1:{proxy.port}") as channel:
        yield Stub(channel)


@pytest.fixture
async def stub(proxy: Envoy) -> AsyncGenerator[Stub]:
    async with calling(proxy) as stub:
        yield stub


async def texts(call: AsyncIterable[pb.Event]) -> list[str]:
    return [event.text async for event in call if event.HasField("text")]


def enveloped(message: pb.RunRequest) -> bytes:
    """As gRPC-Web sends it."""
    body = message.SerializeToString()
    return b"\0" + len(body).to_bytes(4, "big") + body


def test_the_file_is_valid_and_of_no_old_fashion() -> None:
    command = [envoy_program(), "--mode", "validate", "-c", RECIPE, "--log-level", "warning"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stderr) == (0, "")


async def test_native_grpc_passes(stub: Stub, open_server: Server, upstream: Provider) -> None:
    upstream.script(head(), text("Hel"), delay(0.05), text("lo"), finish("stop"), done())
    assert "say" in [function.name for function in (await stub.list(pb.ListRequest())).functions]
    call = stub.stream(SAY)
    assert "".join(await texts(call)) == "Hello"
    [line] = open_server.runs_logged()
    assert ("deltawire-run-id", line["run_id"]) in list(await call.initial_metadata())


async def test_a_failures_details_pass(stub: Stub, upstream: Provider) -> None:
    upstream.script(error_reply(429, "slow down", headers={"retry-after": "2"}))
    with pytest.raises(aio.AioRpcError) as failure:
        await stub.invoke(SAY)
    assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    info = ErrorInfo()
    details = dict(failure.value.trailing_metadata())["grpc-status-details-bin"]
    Status.FromString(bytes(details)).details[0].Unpack(info)  # pyright: ignore[reportArgumentType]  (-bin is bytes)
    assert info.reason == "upstream_rate_limited"


async def test_a_native_caller_who_leaves_stops_the_provider(stub: Stub, upstream: Provider) -> None:
    upstream.script(head(), text("Hel"), silence())
    call = stub.stream(SAY)
    await call.read()
    exchange = await upstream.requested()
    call.cancel()
    await exchange.client_left(within=1.0)


async def test_no_caller_can_have_a_run_repeated_or_cut(stub: Stub, open_server: Server, upstream: Provider) -> None:
    """By the headers that Envoy takes from those whom it trusts."""
    wishes = (
        ("x-envoy-retry-on", "5xx,reset,connect-failure"),
        ("x-envoy-retry-grpc-on", "unavailable,internal,resource-exhausted"),
        ("x-envoy-max-retries", "3"),
        ("x-envoy-upstream-rq-timeout-ms", "100"),
    )
    upstream.always(delay(0.3), error_reply(503, "busy"))
    with pytest.raises(aio.AioRpcError) as failure:
        await stub.invoke(SAY, metadata=wishes)
    assert failure.value.code() is grpc.StatusCode.UNAVAILABLE
    assert [line["outcome"] for line in open_server.runs_logged()] == ["upstream_error"]
    assert len(upstream.exchanges) == 1


@pytest.mark.parametrize("host", ["localhost", "rebound.example"])
async def test_a_page_of_another_origin_is_refused(proxy: Envoy, upstream: Provider, host: str) -> None:
    """Also where the browser takes it for the server's own, because its name leads here."""
    authority = f"{host}:{proxy.port}"
    headers = {"host": authority, "origin": f"http://{authority}", "content-type": "application/grpc-web+proto"}
    async with httpx.AsyncClient() as client:
        reply = await client.post(f"{proxy.url}/{SERVICE}/Stream", headers=headers, content=enveloped(SAY))
    assert reply.status_code == 403
    assert upstream.exchanges == []


@pytest.mark.parametrize(
    ("malformed", "good"),
    [(("grpc-timeout", "1500.5m"), ("grpc-timeout", "30S")), (("grpc-encoding", "br"), ("grpc-encoding", "gzip"))],
)
async def test_a_malformed_header_harms_nobody_elses_call(
    proxy: Envoy, upstream: Provider, malformed: tuple[str, str], good: tuple[str, str]
) -> None:
    """All calls share one connection to deltawire, whose gRPC remembers headers."""
    upstream.script(head(), text("Hello"), finish("stop"), done())
    async with httpx.AsyncClient() as client:
        calls = [
            await client.post(
                f"{proxy.url}/{SERVICE}/Stream",
                headers=[("content-type", "application/grpc-web+proto"), header],
                content=enveloped(SAY),
            )
            for header in (malformed, good)
        ]
    assert calls[0].headers["grpc-status"] == "13"
    assert b"Hello" in calls[1].content


async def test_a_caller_that_does_not_read_slows_the_provider(proxy: Envoy, upstream: Provider) -> None:
    upstream.always(head(), repeat(text("x" * 60_000)))
    _, writer = await asyncio.open_connection("127.0.0.1", proxy.port, limit=1024)
    body = enveloped(SAY)
    lines = [f"POST /{SERVICE}/Stream HTTP/1.1", "host: localhost", "content-type: application/grpc-web+proto"]
    writer.write("\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode() + body)
    exchange = await upstream.requested()
    await exchange.stands_still()
    assert exchange.sent < 64_000_000
    writer.transport.abort()
    await exchange.client_left(within=1.0)


def test_no_clock_of_envoys_is_shorter_than_a_runs(proxy: Envoy) -> None:
    with urllib.request.urlopen(f"{proxy.admin}/config_dump", timeout=5) as reply:
        dump = json.load(reply)["configs"]
    [routes] = [one for part in dump for one in part.get("static_route_configs", [])]
    route = routes["route_config"]["virtual_hosts"][0]["routes"][-1]
    assert (route["route"]["timeout"], route["route"].get("max_stream_duration")) == ("0s", None)
    [listener] = [one["listener"] for part in dump for one in part.get("static_listeners", [])]
    manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
    assert (manager["stream_idle_timeout"], manager.get("max_stream_duration")) == ("3600s", None)


async def test_while_the_server_ends_calls_under_way_go_on_and_new_ones_are_told_at_once(
    environment: dict[str, str], upstream: Provider, origin: str, tmp_path: Path
) -> None:
    gate = Gate()
    upstream.script(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), done())
    with serving(tmp_path, environment) as server, envoy(tmp_path, server.grpc_port, origin) as proxy:
        async with calling(proxy) as stub:
            call = stub.stream(SAY)
            await gate.reached()
            assert proxy.count("cluster.deltawire.membership_healthy") == 1
            os.kill(server.pid, signal.SIGTERM)
            async with asyncio.timeout(10):
                while proxy.count("cluster.deltawire.membership_healthy"):  # noqa: ASYNC110 - Envoy sets no event
                    await asyncio.sleep(0.05)
            with pytest.raises(aio.AioRpcError) as failure:
                await stub.stream(SAY).read()
            assert failure.value.code() is grpc.StatusCode.UNAVAILABLE
            gate.open()
            assert "".join(await texts(call)) == "Hello"
