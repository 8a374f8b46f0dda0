"""gRPC-Web, byte by byte, binary and as text: what it adds to HTTP, and what of a call it refuses. Outcomes of runs are
the contract's."""

import asyncio
import base64
import gzip
from collections.abc import Sequence

import httpx
import pytest

from deltawire.domain.errors import Code, Reason
from deltawire.v1 import functions_pb2 as pb
from tests.matrix.stage import Matrix
from tests.transports.rpc import (
    ARTICLE,
    HI,
    INVOKE,
    LIST,
    STREAM,
    calling,
    decoded,
    ended_with,
    enveloped,
    frames,
    stream_body,
)
from tests.upstream import Gate, answer, close, done, error_reply, finish, head, text

pytestmark = pytest.mark.anyio

WEB = "application/grpc-web"
TEXT = "application/grpc-web-text"
MEDIA = [WEB, f"{WEB}+proto", TEXT, f"{TEXT}+proto"]
OK = (0x80, b"grpc-status: 0\r\n")

each_media = pytest.mark.parametrize("media", MEDIA)


def sent(media: str, body: bytes) -> bytes:
    return base64.b64encode(body) if media.startswith(TEXT) else body


def received(response: httpx.Response) -> list[tuple[int, bytes]]:
    text = response.headers["content-type"].startswith(TEXT)
    return frames(decoded(response.content) if text else response.content)


def names(response: httpx.Response) -> Sequence[str]:
    return [name for name, _ in response.headers.multi_items()]


@each_media
async def test_a_stream_is_envelopes_and_the_last_one_holds_the_trailers(matrix: Matrix, media: str) -> None:
    matrix.provider.always(answer("Hello"))
    async with calling(matrix.server) as rpc:
        response = await rpc.post(STREAM, media, sent(media, enveloped(HI.SerializeToString())))
    run_id = response.headers["deltawire-run-id"]
    started, piece, finished, trailers = received(response)
    assert started == (
        0,
        pb.Event(started=pb.Started(run_id=run_id, function="say", model="openai:m", timeout=300)).SerializeToString(),
    )
    assert piece == (0, b"\x12\x05Hello")
    assert pb.Event.FromString(finished[1]).finished.finish_reason == "stop"
    assert trailers == OK
    assert (response.status_code, response.headers["content-type"]) == (200, media)
    assert response.headers["cache-control"] == "no-cache, no-transform"
    assert [line["transport"] for line in matrix.server.runs_logged()] == ["grpc_web"]


@each_media
async def test_a_unary_call_is_one_message_and_the_trailers(matrix: Matrix, media: str) -> None:
    matrix.provider.always(answer("Hello"))
    async with calling(matrix.server) as rpc:
        response = await rpc.post(INVOKE, media, sent(media, enveloped(HI.SerializeToString())))
        listing = await rpc.post(LIST, media, sent(media, enveloped(b"")))
    (flags, message), trailers = received(response)
    finished = pb.Finished.FromString(message)
    assert (flags, finished.output_json, trailers) == (0, '"Hello"', OK)
    assert finished.run_id == response.headers["deltawire-run-id"]
    assert names(response) == [
        "date",
        "content-type",
        "content-length",
        "x-content-type-options",
        "cache-control",
        "deltawire-run-id",
    ]
    (_, listed), trailers = received(listing)
    assert (pb.ListResponse.FromString(listed).functions[0].name, trailers) == ("say", OK)


@each_media
@pytest.mark.parametrize("path", [STREAM, INVOKE])
async def test_a_failure_before_content_is_in_the_headers(matrix: Matrix, media: str, path: str) -> None:
    matrix.provider.always(error_reply(429, "100% slow: ü", headers={"retry-after": "2"}))
    async with calling(matrix.server) as rpc:
        response = await rpc.post(path, media, sent(media, enveloped(HI.SerializeToString())))
    assert (response.status_code, response.content) == (200, b"")
    assert names(response)[1:] == [
        "content-type",
        "content-length",
        "x-content-type-options",
        "cache-control",
        "deltawire-run-id",
        "grpc-status",
        "grpc-message",
        "grpc-status-details-bin",
    ]
    assert (response.headers["content-type"], response.headers["grpc-status"]) == (media, "8")
    assert response.headers["grpc-message"].endswith("429 Too Many Requests: 100%25 slow: %C3%BC")
    assert not response.headers["grpc-status-details-bin"].endswith("=")
    failed = ended_with("grpc_web", response)[1]
    assert (failed.code, failed.reason) == (Code.resource_exhausted, Reason.upstream_rate_limited)
    assert (failed.retry_after, failed.run_id) == (2.0, response.headers["deltawire-run-id"])


@pytest.mark.parametrize("transport", ["grpc_web", "grpc_web_text"])
async def test_a_failure_after_content_is_in_the_trailers(matrix: Matrix, transport: str) -> None:
    matrix.provider.always(head(), text("Hel"), close())
    async with calling(matrix.server) as rpc:
        response = await rpc.stream(transport)
    messages, failed = ended_with(transport, response)
    assert messages[1:] == [b"\x12\x03Hel"]
    assert (failed.code, failed.reason, failed.partial) == (Code.unavailable, Reason.upstream_truncated, True)
    assert "grpc-status" not in response.headers


async def test_each_write_of_a_text_stream_can_be_decoded_when_it_comes(matrix: Matrix) -> None:
    gates = [Gate(), Gate()]
    steps = [step for piece, gate in zip(("H", "el"), gates, strict=True) for step in (text(piece), gate.wait())]
    matrix.provider.always(head(), *steps, finish("stop"), done())
    parts: list[bytes] = []
    async with (
        calling(matrix.server) as rpc,
        rpc.client.stream(
            "POST", STREAM, content=stream_body("grpc_web_text"), headers={"content-type": TEXT}
        ) as response,
    ):
        async for part in response.aiter_raw():
            parts.append(base64.b64decode(part, validate=True))
            if gates:
                gates.pop(0).open()
    assert parts[0].endswith(enveloped(b"\x12\x01H"))
    assert parts[1] == enveloped(b"\x12\x02el")
    assert frames(parts[2])[-1] == OK


async def test_a_text_request_may_have_padding_in_the_middle(matrix: Matrix) -> None:
    matrix.provider.always(answer("Hello"))
    body = enveloped(HI.SerializeToString())
    async with calling(matrix.server) as rpc:
        response = await rpc.post(STREAM, TEXT, base64.b64encode(body[:5]) + base64.b64encode(body[5:]))
        broken = await rpc.post(STREAM, TEXT, b"AAAA!")
    assert received(response)[-1] == OK
    assert ended_with("grpc_web_text", broken)[1].reason is Reason.invalid_input


async def test_a_request_may_be_compressed(matrix: Matrix) -> None:
    matrix.provider.always(answer("Hello"))
    body = enveloped(gzip.compress(HI.SerializeToString()), 1)
    async with calling(matrix.server) as rpc:
        for media in (WEB, TEXT):
            response = await rpc.post(STREAM, media, sent(media, body), {"grpc-encoding": "gzip"})
            assert received(response)[-1] == OK


async def test_a_compression_that_is_not_known_is_unimplemented(matrix: Matrix) -> None:
    async with calling(matrix.server) as rpc:
        response = await rpc.stream("grpc_web", headers={"grpc-encoding": "snappy"})
    failed = ended_with("grpc_web", response)[1]
    assert (response.headers["grpc-status"], failed.code) == ("12", Code.unimplemented)
    assert failed.reason is Reason.unsupported_media


async def test_a_request_that_is_too_large_however_it_came_is_refused(matrix: Matrix) -> None:
    large = pb.RunRequest(function="say", input_json="a" * 1024 * 1024).SerializeToString()
    packed = enveloped(gzip.compress(large), 1)
    async with calling(matrix.server) as rpc:
        plain = await rpc.post(STREAM, WEB, enveloped(large))
        inner = await rpc.post(STREAM, WEB, packed, {"grpc-encoding": "gzip"})
    for response in (plain, inner):
        failed = ended_with("grpc_web", response)[1]
        assert (failed.code, failed.reason) == (Code.resource_exhausted, Reason.request_too_large)


@pytest.mark.parametrize("timeout", ["", "5", "1.5S", "-1S", "soon"])
async def test_a_malformed_deadline_is_refused(matrix: Matrix, timeout: str) -> None:
    async with calling(matrix.server) as rpc:
        failed = ended_with("grpc_web", await rpc.stream("grpc_web", headers={"grpc-timeout": timeout}))[1]
    assert (failed.code, failed.reason) == (Code.invalid_argument, Reason.invalid_input)


async def test_the_older_service_fails_as_the_others_do(matrix: Matrix) -> None:
    async with calling(matrix.server) as rpc:
        response = await rpc.post(ARTICLE, WEB, enveloped(b"\x0a\x02hi"))
    assert ended_with("grpc_web", response)[1].reason is Reason.unknown_function  # none here is called chat


async def test_http_1_0_gets_a_stream_that_ends_with_the_connection(matrix: Matrix) -> None:
    matrix.provider.always(answer("Hello"))
    for media, body, last in (
        (WEB, stream_body("grpc_web"), enveloped(OK[1], OK[0])),
        ("application/connect+proto", stream_body("connect"), enveloped(b"{}", 2)),
    ):
        request = f"POST {STREAM} HTTP/1.0\r\ncontent-type: {media}\r\ncontent-length: {len(body)}\r\n\r\n"
        reply = await bare(matrix, request.replace("\r\n\r\n", "\r\nhost: localhost\r\n\r\n").encode() + body)
        fields, _, came = reply.partition(b"\r\n\r\n")
        assert b"chunked" not in fields
        assert frames(came)[-1] == frames(last)[0]


async def bare(matrix: Matrix, request: bytes) -> bytes:
    """All that comes until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", matrix.server.port)
    try:
        writer.write(request)
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.close()
