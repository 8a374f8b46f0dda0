"""Failures met over gRPC, gRPC-Web and Connect."""

import asyncio
import json
import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from grpc import aio

from deltawire.v1 import functions_pb2 as pb
from tests.browser.envoy import RECIPE, envoy
from tests.contract.visitors import Visitor, visit
from tests.field.log import outcomes
from tests.field.proxies import nginx
from tests.matrix.answers import answer, events
from tests.matrix.notation import Call
from tests.matrix.rpc import frames
from tests.matrix.server import Server, serving
from tests.matrix.stage import Matrix, http_caller
from tests.matrix.transports import CONNECT, GRPC, MEDIA, RPC, RPC_STREAMS, WEB
from tests.transports.grpc_port.caller import functions, said
from tests.transports.rpc import HI, INVOKE, NO_TLS, STREAM, calling, enveloped
from tests.upstream import (
    Gate,
    delay,
    done,
    error_event,
    error_reply,
    finish,
    head,
    repeat,
    silence,
    text,
    usage,
)
from tests.upstream import answer as says
from tests.waits import seconds

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024
END = (finish("stop"), usage(9, 2), done())
each_rpc = pytest.mark.parametrize("transport", RPC)
each_stream = pytest.mark.parametrize("transport", RPC_STREAMS)
ORIGIN = "https://shop.example"


@pytest.mark.waits
async def test_gr_01_a_caller_who_pings_through_a_silence_keeps_its_stream(
    matrix: Matrix, large_server: Server
) -> None:
    """gRPC's own default takes one ping every five minutes, and ends the connection at the third that is too early."""
    matrix.provider.script(head(), delay(seconds(60, 5.5)), text("one"), text("two"), *END)
    pings = [
        ("grpc.keepalive_time_ms", round(seconds(10_000, 1_050))),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
    ]
    async with functions(large_server.grpc_port, options=pings) as stub:
        told = [event async for event in stub.stream(said())]
    assert "".join(event.text for event in told) == "onetwo"
    assert told[-1].HasField("finished")


LARGE_APP = """
from deltawire import function


@function(retries=0, max_answer_bytes=8 * 1024 * 1024)
def say(message: str) -> str:
    return message
"""


@pytest.fixture(scope="module")
def large_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """Takes requests of 8 MiB, and waits for a first token for two minutes."""
    folder = tmp_path_factory.mktemp("large")
    app = folder / "large.py"
    app.write_text(LARGE_APP)
    limits = dict.fromkeys(["DELTAWIRE_GRPC__MAX_MESSAGE_BYTES", "DELTAWIRE_HTTP__MAX_BODY_BYTES"], str(8 * MIB))
    limits["DELTAWIRE_TIMEOUTS__FIRST_TOKEN"] = "120"
    with serving(folder, {**environment, **limits}, app) as server:
        yield server


def prompt_of(size: int) -> Call:
    return Call("say", input=json.dumps({"message": "x" * size}))


@each_rpc
async def test_gr_02_a_large_prompt_passes_within_the_limit(
    matrix: Matrix, large_server: Server, transport: str
) -> None:
    matrix.provider.always(says("Hello"))
    reply = await matrix.caller(transport, large_server).call(prompt_of(5 * MIB))
    assert answer(transport, reply) == "Hello"
    (exchange,) = matrix.provider.exchanges
    assert len(exchange.request.json["messages"][-1]["content"]) == 5 * MIB


def a_body_of(transport: str, size: int) -> bytes:
    if transport in ("connect_json", "connect_invoke"):
        return b'{"function":"say","inputJson":"' + b"x" * size + b'"}'
    return pb.RunRequest(function="say", input_json="x" * size).SerializeToString()


@each_rpc
async def test_gr_02_a_prompt_beyond_the_limit_is_refused_with_the_limit_and_asks_no_provider(
    matrix: Matrix, large_server: Server, transport: str
) -> None:
    reply = await matrix.caller(transport, large_server).call(Call("say", body=a_body_of(transport, 65 * MIB)))
    assert events(transport, reply)[-1]["code"] == "resource_exhausted"
    assert str(8 * MIB) in reply.written()
    assert matrix.provider.exchanges == []


@each_rpc
async def test_gr_02_a_large_answer_arrives_whole(matrix: Matrix, large_server: Server, transport: str) -> None:
    """A stream cuts it into messages that every client takes; one message of it needs a client that takes it."""
    matrix.provider.always(head(), text("x" * 5 * MIB), *END)
    if transport == "grpc_invoke":
        async with functions(large_server.grpc_port, options=[("grpc.max_receive_message_length", 8 * MIB)]) as stub:
            assert len(json.loads((await stub.invoke(said())).output_json)) == 5 * MIB
    else:
        reply = await matrix.caller(transport, large_server).call(Call("say"))
        assert len(answer(transport, reply)) == 5 * MIB


@pytest.fixture(scope="module")
def open_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """Lets the pages of one origin call."""
    allowed = {"DELTAWIRE_HTTP__ALLOWED_ORIGINS": ORIGIN}
    with serving(tmp_path_factory.mktemp("open"), {**environment, **allowed}) as server:
        yield server


def exposed(response: httpx.Response) -> set[str]:
    """What a page of that origin may read of the reply's headers."""
    assert response.headers["access-control-allow-origin"] == ORIGIN
    return set(response.headers["access-control-expose-headers"].split(", "))


STATUS = {"grpc-status", "grpc-message", "grpc-status-details-bin"}


async def test_gr_03_a_preflight_of_grpc_web_is_accepted(open_server: Server) -> None:
    wanted = "content-type,grpc-timeout,x-grpc-web,x-user-agent"
    asks = {"origin": ORIGIN, "access-control-request-method": "POST", "access-control-request-headers": wanted}
    async with calling(open_server) as rpc:
        reply = await rpc.client.options(STREAM, headers=asks)
    allowed = reply.headers["access-control-allow-headers"].replace(" ", "").split(",")
    assert reply.status_code == 204
    assert set(wanted.split(",")) <= set(allowed)


@pytest.mark.parametrize("path", [STREAM, INVOKE])
async def test_gr_03_a_page_can_read_how_a_call_failed_before_its_first_message(
    matrix: Matrix, open_server: Server, path: str
) -> None:
    del matrix
    body = enveloped(b"\x0a\x07caf\xc3\xa9 \xe2")  # no UTF-8
    wrong = enveloped(pb.RunRequest(function="café!", input_json="{}").SerializeToString())  # not there
    async with calling(open_server) as rpc:
        for sent, status in ((body, "3"), (wrong, "5")):
            reply = await rpc.post(path, MEDIA["grpc_web"], sent, {"origin": ORIGIN})
            assert reply.status_code == 200
            assert exposed(reply) >= STATUS
            assert reply.headers["grpc-status"] == status
            assert reply.headers["grpc-message"].isascii()
        assert "café!" in unquote(reply.headers["grpc-message"])


@pytest.mark.parametrize("fails", [True, False], ids=["fails", "succeeds"])
async def test_gr_03_after_a_message_the_status_is_in_a_frame_of_its_own(
    matrix: Matrix, open_server: Server, fails: bool
) -> None:
    ends = (error_event("é", code="rate_limit"),) if fails else END
    matrix.provider.script(head(), text("one"), *ends)
    async with calling(open_server) as rpc:
        reply = await rpc.post(STREAM, MEDIA["grpc_web"], enveloped(HI.SerializeToString()), {"origin": ORIGIN})
    assert exposed(reply) >= STATUS
    *messages, (flags, trailers), _ = list(frames(reply.content))
    assert [flag for flag, _ in messages] == [0] * len(messages)
    fields = dict(line.split(": ", 1) for line in trailers.decode().splitlines())
    assert (flags, fields["grpc-status"]) == (0x80, "8" if fails else "0")
    if fails:
        assert fields.keys() >= STATUS
        assert unquote(fields["grpc-message"]).endswith(": é")


KILLED = [*RPC_STREAMS, "sse", "ndjson", "text", "chat_stream", "ws"]


async def test_gr_05_a_server_that_is_killed_never_looks_as_if_its_answer_were_complete(
    matrix: Matrix, environment: dict[str, str], tmp_path: Path
) -> None:
    gate = Gate()
    matrix.provider.always(head(), text("one"), text("two"), gate.wait(), silence())
    with serving(tmp_path, environment) as server:
        calls = [asyncio.create_task(matrix.caller(transport, server).call(Call("say"))) for transport in KILLED]
        await gate.reached(len(KILLED))
        await asyncio.sleep(0.3)  # until the callers have read what the provider said
        os.kill(server.pid, signal.SIGKILL)
        replies = await asyncio.gather(*calls)
    for transport, reply in zip(KILLED, replies, strict=True):
        assert "one" in reply.written(), transport
        if transport in GRPC:
            assert events(transport, reply)[-1]["code"] == "unavailable"
        else:
            assert not reply.complete, transport
        assert "finished" not in reply.written()


@each_stream
async def test_gr_05_a_provider_that_fails_after_two_messages_is_told_in_the_end_of_the_stream(
    matrix: Matrix, transport: str
) -> None:
    matrix.provider.script(head(), text("one"), delay(0.05), text("two"), error_event("it broke"))
    reply = await matrix.caller(transport).call(Call("say"))
    *_, last = events(transport, reply)
    assert (last["type"], last["code"], last["reason"]) == ("error", "unavailable", "upstream_error")
    assert reply.complete
    assert "it broke" in reply.written()


async def test_gr_06_over_a_hop_of_http_1_1_native_grpc_fails_unlike_a_model_and_the_others_work(
    matrix: Matrix, tmp_path: Path
) -> None:
    with nginx(tmp_path, matrix.server.port, "proxy_http_version 1.1;") as url:
        async with functions(int(url.rpartition(":")[2])) as stub:
            with pytest.raises(aio.AioRpcError) as failed:
                await stub.invoke(said(), timeout=5)
        assert "grpc-status-details-bin" not in dict(failed.value.trailing_metadata() or ())
        async with httpx.AsyncClient(trust_env=False, verify=NO_TLS) as client:
            for transport in (*CONNECT, *WEB, "sse", "chat_stream"):
                matrix.provider.script(head(), text("one"), delay(0.2), text("two"), *END)
                call = http_caller(transport, matrix.server).request(Call("say"))
                reply = await client.post(url + call.url.path, content=call.content, headers=call.headers)
                assert reply.status_code == 200
                caller = http_caller(transport, matrix.server)
                came = caller.reply(
                    f"HTTP/1.1 200 OK\ncontent-type: {MEDIA.get(transport)}\n", reply.content, complete=True
                )
                assert answer(transport, came) == "onetwo"


@pytest.mark.waits
@pytest.mark.parametrize("shipped", [True, False], ids=["shipped", "default"])
async def test_gr_06_envoy_as_we_ship_it_cuts_no_stream_and_as_it_comes_says_so_in_its_own_words(
    matrix: Matrix, tmp_path: Path, shipped: bool
) -> None:
    """Envoy's own limit for a route is 15 s after the request, however much is sent."""
    pieces = 25
    step = (delay(seconds(1, 0.1)), text("x"))
    matrix.provider.script(head(), *(one for _ in range(pieces) for one in step), *END)
    limit = {} if shipped else {"limit": ("timeout: 0s", f"timeout: {seconds(15, 1):g}s")}
    with envoy(tmp_path, matrix.server.grpc_port, ORIGIN, **limit) as proxy:
        async with functions(proxy.port) as stub:
            call = stub.stream(said())
            if shipped:
                assert "".join([event.text async for event in call]) == "x" * pieces
                return
            with pytest.raises(aio.AioRpcError) as failed:
                _ = [event async for event in call]
    assert "grpc-status-details-bin" not in dict(failed.value.trailing_metadata() or ())
    await (await matrix.provider.requested()).client_left(within=1.0)


def test_gr_06_the_setting_is_named_where_people_look() -> None:
    assert "15 s" in (RECIPE.parent / "README.md").read_text()


@pytest.mark.parametrize("transport", ["grpc", "connect", "grpc_web"])
async def test_gr_07_fifty_callers_who_cancel_after_one_message_hold_nothing(matrix: Matrix, transport: str) -> None:
    matrix.provider.always(head(), repeat(delay(0.05), 1), repeat(text("one ")))
    for _ in range(5):
        visitors: list[Visitor] = [await visit(transport, matrix.server, Call("say")) for _ in range(10)]
        exchanges = [await matrix.provider.requested() for _ in visitors]
        for visitor in visitors:
            await visitor.has_read(b"one")
            visitor.leave("cancel" if transport in GRPC else "close")
        for exchange in exchanges:
            await exchange.client_left(within=1.0)
        assert await outcomes(matrix.server, 10) == ["canceled"] * 10
        for visitor in visitors:
            visitor.close()
    matrix.provider.always(says("Hello"))
    async with asyncio.timeout(10):
        assert answer(transport, await matrix.caller(transport).call(Call("say"))) == "Hello"


@each_rpc
@pytest.mark.parametrize("function", ["hasty", "brief"])
async def test_gr_07_a_limit_of_our_own_is_a_status_and_no_hanging(
    matrix: Matrix, transport: str, function: str
) -> None:
    matrix.provider.script(head(), text("one"), silence())
    async with asyncio.timeout(20):
        reply = await matrix.caller(transport).call(Call(function))
    assert events(transport, reply)[-1]["code"] == "deadline_exceeded"


JSON = {"content-type": "application/json"}
HASTY = b'{"function":"hasty","inputJson":"{\\"message\\":\\"hi\\"}"}'
CODES: dict[str, tuple[str, dict[str, str], bytes, int, str]] = {
    "an unknown method": ("/deltawire.v1.Functions/Nothing", JSON, b"{}", 404, "not_found"),
    "a content type": (INVOKE, {"content-type": "text/csv"}, b"{}", 415, "invalid_argument"),
    "malformed JSON": (INVOKE, JSON, b"{", 400, "invalid_argument"),
    "an encoding": (INVOKE, {**JSON, "content-encoding": "br"}, b"{}", 501, "unimplemented"),
    "429": (INVOKE, JSON, HASTY, 429, "resource_exhausted"),
    "a timeout": (
        INVOKE,
        JSON,
        b'{"function":"hasty","inputJson":"{\\"message\\":\\"hi\\"}"}',
        504,
        "deadline_exceeded",
    ),
}


@pytest.mark.parametrize("wrong", CODES)
async def test_gr_08_a_unary_failure_has_its_status_and_a_json_body(matrix: Matrix, wrong: str) -> None:
    path, headers, body, status, code = CODES[wrong]
    matrix.provider.always(error_reply(429, "slow down") if wrong == "429" else silence())
    async with calling(matrix.server) as rpc:
        reply = await rpc.client.post(path, content=body, headers=headers)
    told: dict[str, Any] = reply.json()
    assert (reply.status_code, told["code"]) == (status, code)
    if wrong in ("an unknown method", "a content type"):
        # No document of Connect's: its clients make of the status what the protocol says, unimplemented or unknown.
        assert reply.headers["content-type"] == "application/problem+json"
    else:
        assert (reply.headers["content-type"], bool(told["message"])) == ("application/json", True)


@pytest.mark.parametrize("wrong", ["malformed JSON", "an encoding", "429", "a timeout"])
async def test_gr_08_a_streams_failure_is_in_its_end_whatever_it_is(matrix: Matrix, wrong: str) -> None:
    _, headers, body, _, code = CODES[wrong]
    matrix.provider.always(error_reply(429, "slow down") if wrong == "429" else silence())
    sent = {"content-type": MEDIA["connect_json"]}
    flags = 0
    if "content-encoding" in headers:
        sent["connect-content-encoding"], flags = headers["content-encoding"], 1
    async with calling(matrix.server) as rpc:
        reply = await rpc.client.post(STREAM, content=enveloped(body, flags), headers=sent)
    assert (reply.status_code, reply.headers["content-type"]) == (200, MEDIA["connect_json"])
    *_, (end, message), _ = list(frames(reply.content))
    assert (end, json.loads(message)["error"]["code"]) == (2, code)
