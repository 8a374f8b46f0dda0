"""Connect, byte by byte: what it adds to HTTP, and what of a call it refuses. Outcomes of runs are the contract's."""

import gzip
import json

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
    connect_failure,
    ended_with,
    enveloped,
    frames,
    stream_body,
)
from tests.upstream import answer, error_reply

pytestmark = pytest.mark.anyio

JSON, PROTO = "application/json", "application/proto"
STREAM_JSON, STREAM_PROTO = "application/connect+json", "application/connect+proto"
HI_JSON = b'{"function":"say","inputJson":"{\\"message\\":\\"hi\\"}"}'


async def test_a_unary_call_is_one_message_bare(matrix: Matrix) -> None:
    matrix.provider.always(answer("Hello"))
    async with calling(matrix.server) as rpc:
        as_json = await rpc.post(INVOKE, JSON, HI_JSON)
        as_proto = await rpc.post(INVOKE, PROTO, HI.SerializeToString())
    assert [name for name, _ in as_json.headers.multi_items()] == [
        "date",
        "content-type",
        "content-length",
        "x-content-type-options",
        "cache-control",
        "deltawire-run-id",
    ]
    run_id = as_json.headers["deltawire-run-id"]
    assert as_json.headers["content-type"] == JSON
    assert as_json.text == (
        f'{{"runId":"{run_id}","outputJson":"\\"Hello\\"","finishReason":"stop",'
        '"usage":{"inputTokens":9,"outputTokens":2},"attempts":1}'
    )
    assert as_proto.headers["content-type"] == PROTO
    finished = pb.Finished.FromString(as_proto.content)
    assert (finished.run_id, finished.output_json) == (as_proto.headers["deltawire-run-id"], '"Hello"')
    assert [line["transport"] for line in matrix.server.runs_logged()] == ["connect", "connect"]


async def test_a_unary_failure_is_a_status_by_its_code_and_says_when_to_come_again(matrix: Matrix) -> None:
    matrix.provider.always(error_reply(429, "slow down", headers={"retry-after": "2"}))
    async with calling(matrix.server) as rpc:
        for media, body in ((JSON, HI_JSON), (PROTO, HI.SerializeToString())):
            response = await rpc.post(INVOKE, media, body)
            assert (response.status_code, response.headers["retry-after"]) == (429, "2")
            assert response.headers["content-type"] == JSON
            failed = connect_failure(response.json())
            assert (failed.code, failed.reason) == (Code.resource_exhausted, Reason.upstream_rate_limited)
            assert (failed.retry_after, failed.run_id) == (2.0, response.headers["deltawire-run-id"])


async def test_the_functions_are_listed_and_that_is_no_run(matrix: Matrix) -> None:
    async with calling(matrix.server) as rpc:
        as_json = await rpc.post(LIST, JSON, b"{}")
        as_proto = await rpc.post(LIST, PROTO, b"")
        named = {each["name"]: each for each in (await rpc.client.get("/v1/functions")).json()["functions"]}
    listed = pb.ListResponse.FromString(as_proto.content)
    assert as_json.json()["functions"][0]["name"] == listed.functions[0].name == "say"
    assert [each.name for each in listed.functions] == list(named)
    for each in listed.functions:
        assert json.loads(each.input_schema_json) == named[each.name]["input"]
        assert json.loads(each.output_schema_json) == named[each.name]["output"]
    assert "deltawire-run-id" not in as_json.headers
    assert matrix.server.runs_logged() == []


async def test_a_stream_is_envelopes_and_the_last_one_is_its_end(matrix: Matrix) -> None:
    matrix.provider.always(answer("Hel"))
    async with calling(matrix.server) as rpc:
        response = await rpc.stream("connect_json")
    run_id = response.headers["deltawire-run-id"]
    started = f'{{"started":{{"runId":"{run_id}","function":"say","model":"openai:m","timeout":300.0}}}}'
    finished = (
        f'{{"finished":{{"runId":"{run_id}","finishReason":"stop",'
        '"usage":{"inputTokens":9,"outputTokens":2},"attempts":1}}'
    )
    assert frames(response.content) == [
        (0, started.encode()),
        (0, b'{"text":"Hel"}'),
        (0, finished.encode()),
        (2, b"{}"),
    ]
    assert (response.status_code, response.headers["content-type"]) == (200, STREAM_JSON)
    assert response.headers["cache-control"] == "no-cache, no-transform"


@pytest.mark.parametrize("transport", ["connect", "connect_json"])
async def test_a_stream_that_fails_at_once_is_its_end_alone(matrix: Matrix, transport: str) -> None:
    matrix.provider.always(error_reply(429, "slow: ü", headers={"retry-after": "2"}))
    async with calling(matrix.server) as rpc:
        response = await rpc.stream(transport)
    messages, failed = ended_with(transport, response)
    assert (messages, failed.reason, failed.retry_after, failed.partial) == ([], "upstream_rate_limited", 2.0, False)
    assert failed.run_id == response.headers["deltawire-run-id"]
    assert [name for name, _ in response.headers.multi_items()] == [
        "date",
        "content-type",
        "content-length",
        "x-content-type-options",
        "cache-control",
        "deltawire-run-id",
    ]


async def test_the_older_service_streams_pieces_alone(matrix: Matrix) -> None:
    async with calling(matrix.server) as rpc:
        response = await rpc.post(ARTICLE, STREAM_JSON, enveloped(b'{"prompt":"hi"}'))
    assert ended_with("connect", response)[1].reason is Reason.unknown_function  # no function here is called chat


COMPRESSED = enveloped(gzip.compress(HI.SerializeToString()), 1)


async def test_requests_may_be_compressed(matrix: Matrix) -> None:
    matrix.provider.always(answer("Hello"))
    async with calling(matrix.server) as rpc:
        unary = await rpc.post(INVOKE, JSON, gzip.compress(HI_JSON), {"content-encoding": "gzip"})
        stream = await rpc.post(STREAM, STREAM_PROTO, COMPRESSED, {"connect-content-encoding": "gzip"})
        plain = await rpc.post(STREAM, STREAM_PROTO, stream_body("connect"), {"connect-content-encoding": "gzip"})
    assert unary.json()["outputJson"] == '"Hello"'
    assert [frames(each.content)[-1] for each in (stream, plain)] == [(2, b"{}")] * 2


async def test_a_compression_that_is_not_known_is_unimplemented(matrix: Matrix) -> None:
    async with calling(matrix.server) as rpc:
        unary = await rpc.post(INVOKE, JSON, HI_JSON, {"content-encoding": "br"})
        stream = await rpc.post(STREAM, STREAM_PROTO, stream_body("connect"), {"connect-content-encoding": "br"})
    assert (unary.status_code, unary.headers["accept-encoding"]) == (501, "gzip")
    for failed in (connect_failure(unary.json()), ended_with("connect", stream)[1]):
        assert (failed.code, failed.reason) == (Code.unimplemented, Reason.unsupported_media)
    assert [line["outcome"] for line in matrix.server.runs_logged()] == ["unsupported_media"] * 2


async def test_a_request_that_is_too_large_however_it_came_is_refused(matrix: Matrix) -> None:
    large = b'{"function":"say","inputJson":"%s"}' % (b"a" * 1024 * 1024)
    packed = enveloped(gzip.compress(large), 1)
    async with calling(matrix.server) as rpc:
        bare = await rpc.post(INVOKE, JSON, large)
        bomb = await rpc.post(INVOKE, JSON, gzip.compress(large), {"content-encoding": "gzip"})
        plain = await rpc.post(STREAM, STREAM_JSON, enveloped(large))
        inner = await rpc.post(STREAM, STREAM_JSON, packed, {"connect-content-encoding": "gzip"})
    assert [bare.status_code, bomb.status_code] == [429, 429]
    for failed in (connect_failure(bare.json()), connect_failure(bomb.json())):
        assert (failed.code, failed.reason) == (Code.resource_exhausted, Reason.request_too_large)
    for response in (plain, inner):
        assert ended_with("connect", response)[1].reason is Reason.request_too_large


@pytest.mark.parametrize(
    "headers",
    [{"connect-protocol-version": "2"}, {"connect-timeout-ms": "soon"}, {"connect-timeout-ms": "-1"}],
)
async def test_headers_that_the_protocol_does_not_allow_are_refused(matrix: Matrix, headers: dict[str, str]) -> None:
    async with calling(matrix.server) as rpc:
        unary = await rpc.post(INVOKE, JSON, HI_JSON, headers)
        stream = await rpc.post(STREAM, STREAM_PROTO, stream_body("connect"), headers)
        listing = await rpc.post(LIST, JSON, b"{}", headers)
    assert [unary.status_code, stream.status_code, listing.status_code] == [400, 200, 400]
    for failed in (connect_failure(unary.json()), ended_with("connect", stream)[1], connect_failure(listing.json())):
        assert (failed.code, failed.reason) == (Code.invalid_argument, Reason.invalid_input)
        assert failed.message.startswith(f"{next(iter(headers))} is '")


@pytest.mark.parametrize("body", [b"", enveloped(b"")[:-1], stream_body("connect")[:-1], stream_body("connect") * 2])
async def test_a_stream_whose_request_is_not_one_message_is_refused(matrix: Matrix, body: bytes) -> None:
    async with calling(matrix.server) as rpc:
        response = await rpc.post(STREAM, STREAM_PROTO, body)
    assert ended_with("connect", response)[1].reason is Reason.invalid_input


@pytest.mark.parametrize(
    ("media", "body", "reason"),
    [
        (JSON, b"", Reason.invalid_json),
        (JSON, b"{", Reason.invalid_json),
        (JSON, b'{"function":1}', Reason.invalid_input),
        (JSON, b'{"function":"say","inputJson":"{"}', Reason.invalid_json),
        (JSON, b'{"function":"nobody","inputJson":"{}"}', Reason.unknown_function),
        (PROTO, b"\xff", Reason.invalid_input),
        (PROTO, b"", Reason.invalid_json),
        (PROTO, pb.RunRequest(function="say", input_json="{}", timeout=-1).SerializeToString(), Reason.invalid_input),
    ],
)
async def test_a_message_that_cannot_be_used_is_refused(
    matrix: Matrix, media: str, body: bytes, reason: Reason
) -> None:
    async with calling(matrix.server) as rpc:
        unary = await rpc.post(INVOKE, media, body)
        stream = await rpc.post(STREAM, f"application/connect+{media.partition('/')[2]}", enveloped(body))
    assert connect_failure(unary.json()).reason is reason
    assert ended_with("connect", stream)[1].reason is reason


@pytest.mark.parametrize(
    ("path", "media"),
    [
        (STREAM, JSON),
        (STREAM, PROTO),
        (ARTICLE, JSON),
        (INVOKE, STREAM_JSON),
        (LIST, STREAM_PROTO),
        (INVOKE, "application/grpc"),
        (INVOKE, "application/grpc-web+json"),
        (INVOKE, "text/plain"),
        (INVOKE, ""),
    ],
)
async def test_a_content_type_that_is_none_of_the_procedures_is_refused(matrix: Matrix, path: str, media: str) -> None:
    async with calling(matrix.server) as rpc:
        response = await rpc.post(path, media, HI_JSON)
    assert (response.status_code, response.json()["reason"]) == (415, "unsupported_media")
    offered = response.headers["accept-post"].split(", ")
    web = "application/grpc-web"
    own = [JSON, PROTO] if path in (INVOKE, LIST) else [STREAM_JSON, STREAM_PROTO]
    assert offered == [*own, web, f"{web}+proto", f"{web}-text", f"{web}-text+proto"]


async def test_a_content_type_may_have_parameters_and_capitals(matrix: Matrix) -> None:
    async with calling(matrix.server) as rpc:
        response = await rpc.post(LIST, "Application/JSON; charset=utf-8", b"{}")
    assert (response.status_code, response.headers["content-type"]) == (200, JSON)


@pytest.mark.parametrize("path", [STREAM, INVOKE, LIST, ARTICLE])
async def test_procedures_are_called_with_post(matrix: Matrix, path: str) -> None:
    async with calling(matrix.server) as rpc:
        for method in ("GET", "HEAD", "PUT", "DELETE"):
            response = await rpc.client.request(method, path)
            assert (response.status_code, response.headers["allow"]) == (405, "OPTIONS, POST")
        response = await rpc.client.options(path)
    assert (response.status_code, response.headers["allow"]) == (204, "OPTIONS, POST")


async def test_a_foreign_page_may_not_call(matrix: Matrix) -> None:
    async with calling(matrix.server) as rpc:
        response = await rpc.post(INVOKE, JSON, HI_JSON, {"origin": "https://foreign.example"})
    assert (response.status_code, response.json()["reason"]) == (403, "forbidden")


async def test_the_description_of_the_api_leaves_the_procedures_out(matrix: Matrix) -> None:
    async with calling(matrix.server) as rpc:
        paths = (await rpc.client.get("/openapi.json")).json()["paths"]
    assert not [path for path in paths if "Functions" in path or "Service" in path]
