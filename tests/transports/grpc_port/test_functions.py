"""What grpcio's client gets: answers, statuses with their details, health and reflection; and many at once."""

import asyncio
import json
import os
import sys
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc import aio
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from deltawire.article.stream_pb2 import UserRequest
from deltawire.v1 import functions_pb2 as pb
from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.transports.grpc_port.caller import Health, channel, functions, reason, said
from tests.transports.grpc_port.frames import GOAWAY, PING, frame, frames
from tests.upstream import Gate, answer, done, finish, head, role, silence, text, usage

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("fresh")]

SERVICES = ["deltawire.v1.Functions", "stream.ResponseStreamingService"]
HEALTH = "grpc.health.v1.Health"
REFLECTION = "grpc.reflection.v1alpha.ServerReflection"


async def test_a_stream_is_the_events_one_by_one(server: Server, provider: Provider) -> None:
    gate = Gate()
    provider.script(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), usage(9, 2), done())
    async with functions(server.grpc_port) as stub:
        call = stub.stream(said())
        events = aiter(call)
        started = await anext(events)
        assert started.started.function == "say"
        assert await anext(events) == pb.Event(text="Hel")
        gate.open()
        rest = [event async for event in events]
        assert rest[0] == pb.Event(text="lo")
        assert rest[1].finished.usage == pb.Usage(input_tokens=9, output_tokens=2)
        assert len(rest) == 2
        assert await call.code() is grpc.StatusCode.OK
        assert dict(await call.initial_metadata()) == {"deltawire-run-id": started.started.run_id}


async def test_invoke_is_the_whole_answer(server: Server, provider: Provider) -> None:
    provider.script(answer("Hel", "lo"))
    async with functions(server.grpc_port) as stub:
        call = stub.invoke(said())
        finished = await call
        assert finished.output_json == '"Hello"'
        assert dict(await call.initial_metadata()) == {"deltawire-run-id": finished.run_id}


async def test_list_tells_the_functions_with_their_schemas(server: Server) -> None:
    async with functions(server.grpc_port) as stub:
        listed = await stub.list(pb.ListRequest())
    found = {function.name: function for function in listed.functions}
    assert '"message"' in found["say"].input_schema_json
    assert found["say"].description == "Say something."


@pytest.mark.parametrize("method", ["Invoke", "Stream"])
@pytest.mark.parametrize(
    ("request_", "code", "why"),
    [
        (pb.RunRequest(function="nobody", input_json="{}"), grpc.StatusCode.NOT_FOUND, "unknown_function"),
        (pb.RunRequest(function="say", input_json="{"), grpc.StatusCode.INVALID_ARGUMENT, "invalid_json"),
        (pb.RunRequest(function="say", input_json="{}"), grpc.StatusCode.INVALID_ARGUMENT, "invalid_input"),
        (
            pb.RunRequest(function="say", input_json='"é"', timeout=-1),
            grpc.StatusCode.INVALID_ARGUMENT,
            "invalid_input",
        ),
    ],
)
async def test_a_failure_is_a_status_whose_details_hold_the_run_id(
    server: Server, method: str, request_: pb.RunRequest, code: grpc.StatusCode, why: str
) -> None:
    """The initial metadata is the transport matrix's: ``grpc.aio`` drops it where a stream's status comes with it."""
    async with functions(server.grpc_port) as stub:
        call = stub.invoke(request_) if method == "Invoke" else stub.stream(request_)
        with pytest.raises(aio.AioRpcError) as failed:
            await (call if isinstance(call, aio.UnaryUnaryCall) else call.read())
    assert failed.value.code() is code
    info = reason(failed.value)
    assert (info.reason, info.domain, info.metadata["partial"]) == (why, "deltawire", "false")
    [line] = server.runs_logged()
    assert (line["run_id"], line["transport"], line["outcome"]) == (info.metadata["run_id"], "grpc", why)


async def test_bytes_that_are_no_message_are_told_apart_from_our_own_failures(server: Server) -> None:
    async with channel(server.grpc_port) as opened:
        for method in ("List", "Invoke"):
            with pytest.raises(aio.AioRpcError) as failed:
                await opened.unary_unary(f"/deltawire.v1.Functions/{method}")(b"\xff")
            assert (failed.value.code(), reason(failed.value).reason) == (
                grpc.StatusCode.INVALID_ARGUMENT,
                "invalid_input",
            )
    server.runs_logged()


async def test_a_failure_after_content_is_the_status_of_the_stream(server: Server, provider: Provider) -> None:
    provider.script(head(), text("Hel"))
    async with functions(server.grpc_port) as stub:
        call = stub.stream(said())
        assert isinstance(await call.read(), pb.Event)
        assert await call.read() == pb.Event(text="Hel")
        with pytest.raises(aio.AioRpcError) as failed:
            await call.read()
    info = reason(failed.value)
    assert (info.reason, info.metadata["partial"]) == ("upstream_truncated", "true")


async def test_a_request_beyond_the_limit_is_refused(server: Server) -> None:
    async with functions(server.grpc_port) as stub:
        with pytest.raises(aio.AioRpcError) as failed:
            await stub.invoke(said("x" * 1024 * 1024))
    assert failed.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_long_message_of_a_failure_fits_into_what_a_caller_takes(server: Server) -> None:
    """Callers refuse more than 8 KiB of metadata, and each of these characters takes nine bytes on its way."""
    given = json.dumps({f"{number}{'字' * 180}": 1 for number in range(5)})
    async with functions(server.grpc_port) as stub:
        with pytest.raises(aio.AioRpcError) as failed:
            await stub.invoke(pb.RunRequest(function="say", input_json=given))
    assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert reason(failed.value).reason == "invalid_input"
    message = failed.value.details()
    assert message is not None
    assert "字字字" in message
    assert message.endswith("…")


async def test_the_initial_metadata_of_a_slow_stream_goes_out_when_the_hold_is_over(
    hurried_server: Server, provider: Provider
) -> None:
    gate = Gate()
    provider.script(head(), role(), gate.wait(), text("Hello"), finish("stop"), done())
    async with functions(hurried_server.grpc_port) as stub:
        call = stub.stream(said())
        run_id = dict(await call.initial_metadata())["deltawire-run-id"]
        gate.open()
        events = [event async for event in call]
    assert [event.WhichOneof("event") for event in events] == ["started", "text", "finished"]
    assert events[0].started.run_id == run_id


async def test_a_late_failure_before_content_is_the_status_too(hurried_server: Server, provider: Provider) -> None:
    gate = Gate()
    provider.script(head(), role(), gate.wait())
    async with functions(hurried_server.grpc_port) as stub:
        call = stub.stream(said())
        await call.initial_metadata()
        gate.open()
        with pytest.raises(aio.AioRpcError) as failed:
            await call.read()
    assert reason(failed.value).reason == "upstream_truncated"


@pytest.mark.parametrize("method", ["Invoke", "Stream"])
async def test_a_deadline_ends_the_run_and_closes_the_provider(server: Server, provider: Provider, method: str) -> None:
    provider.script(head(), role(), silence())
    async with functions(server.grpc_port) as stub:
        began = asyncio.get_running_loop().time()
        call = stub.invoke(said(), timeout=0.3) if method == "Invoke" else stub.stream(said(), timeout=0.3)
        assert await call.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        left = await (await provider.requested()).client_left()
        assert 0.25 < left - began < 1.3
    [line] = await server.logged(1)
    assert line["outcome"] == "total_timeout"


async def test_the_runs_own_timeout_is_a_status_with_its_reason(server: Server, provider: Provider) -> None:
    provider.script(head(), role(), silence())
    request = said()
    request.timeout = 0.2
    async with functions(server.grpc_port) as stub:
        with pytest.raises(aio.AioRpcError) as failed:
            await stub.stream(request, timeout=30).read()
    assert failed.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert reason(failed.value).reason == "total_timeout"


async def test_the_callers_deadline_is_told_as_the_runs_limit(server: Server, provider: Provider) -> None:
    provider.script(answer("Hello"))
    async with functions(server.grpc_port) as stub:
        [first, *_] = [event async for event in stub.stream(said(), timeout=20)]
    assert 19 < first.started.timeout < 21  # gRPC rounds it on its way


async def test_three_hundred_streams_on_one_channel_come_to_their_end(server: Server, provider: Provider) -> None:
    gate = Gate()
    provider.always(head(), text("Hel"), gate.wait(), text("lo"), finish("stop"), done())

    async def called() -> str:
        return "".join([event.text async for event in stub.stream(said())])

    async with functions(server.grpc_port) as stub:
        calls = [asyncio.ensure_future(called()) for _ in range(300)]
        for _ in calls:  # all are under way at once
            await provider.requested()
        gate.open()
        assert await asyncio.gather(*calls) == ["Hello"] * 300
    assert {line["outcome"] for line in await server.logged(300)} == {"stop"}


async def test_more_calls_at_once_than_grpc_itself_lets_wait_are_all_answered(server: Server) -> None:
    async with functions(server.grpc_port) as stub:
        calls = [stub.invoke(said(function="nobody")) for _ in range(2500)]
        codes = [await call.code() for call in calls]
    assert set(codes) == {grpc.StatusCode.NOT_FOUND}
    assert len(server.runs_logged()) == 2500


async def test_the_older_chats_stream_is_text_alone(server: Server) -> None:
    request = UserRequest(prompt="hi").SerializeToString()
    async with channel(server.grpc_port) as opened:
        with pytest.raises(aio.AioRpcError) as failed:  # these functions have no chat among them
            await opened.unary_stream("/stream.ResponseStreamingService/stream")(request).read()
    assert reason(failed.value).reason == "unknown_function"


async def test_health_is_told_of_the_server_and_of_each_service(server: Server) -> None:
    async with channel(server.grpc_port) as opened:
        health = Health(opened)
        for service in ("", *SERVICES):
            checked = await health.check(HealthCheckRequest(service=service))
            assert checked == HealthCheckResponse(status=HealthCheckResponse.SERVING)
        with pytest.raises(aio.AioRpcError) as failed:
            await health.check(HealthCheckRequest(service="nobody"))
        assert failed.value.code() is grpc.StatusCode.NOT_FOUND


async def test_a_caller_without_stubs_learns_the_messages_by_reflection(server: Server, provider: Provider) -> None:
    provider.script(answer("Hello"))
    called = await asyncio.to_thread(_call_by_reflection, server.grpc_port)
    assert called == ([*SERVICES, HEALTH, REFLECTION], '"Hello"')


def _call_by_reflection(port: int) -> tuple[list[str], str]:
    with grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.use_local_subchannel_pool", 1)]) as opened:
        database = ProtoReflectionDescriptorDatabase(opened)
        services = sorted(database.get_services(), key=[*SERVICES, HEALTH, REFLECTION].index)
        pool = DescriptorPool(database)
        for service in services:
            assert pool.FindServiceByName(service).full_name == service
        method = pool.FindServiceByName(SERVICES[0]).methods_by_name["Invoke"]
        ask, answered = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        invoke: grpc.UnaryUnaryMultiCallable[Message, Message] = opened.unary_unary(
            f"/{SERVICES[0]}/Invoke", ask.SerializeToString, answered.FromString
        )
        return services, getattr(invoke(ask(function="say", input_json='"hi"')), "output_json")  # noqa: B009 - made here


async def test_stubs_made_by_a_caller_from_the_published_proto_work(
    server: Server, provider: Provider, tmp_path: Path
) -> None:
    """In a process of its own, which knows nothing of ours but the file and the port."""
    provider.script(answer("Hel", "lo"))
    proto = Path(__file__).parents[3] / "proto"
    client = f"""
import grpc, sys
from deltawire.v1 import functions_pb2, functions_pb2_grpc
with grpc.insecure_channel("127.0.0.1:{server.grpc_port}") as channel:
    stub = functions_pb2_grpc.FunctionsStub(channel)
    request = functions_pb2.RunRequest(function="say", input_json='"hi"')
    print("".join(event.text for event in stub.Stream(request)), end="")
"""
    source = "deltawire/v1/functions.proto"
    out = [f"--{kind}={tmp_path}" for kind in ("python_out", "grpc_python_out")]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for arguments in (["-m", "grpc_tools.protoc", f"-I{proto}", *out, source], ["-c", client]):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P" if arguments[0] == "-m" else "-q",
            *arguments,
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(tmp_path)},
            stdout=asyncio.subprocess.PIPE,
        )
        printed, _ = await process.communicate()
        assert process.returncode == 0
    assert printed == b"Hello"


async def test_a_caller_may_ping_every_second_without_a_call(server: Server) -> None:
    """gRPC's own default takes one every five minutes, and none without a call."""
    async with frames(server.grpc_port) as caller, asyncio.timeout(20):
        for _ in range(4):  # beyond two that come too early the connection is ended
            await asyncio.sleep(1.05)
            caller.send(frame(PING, bytes(8)))
            while (kind := await caller.next()) != PING:
                assert kind != GOAWAY
