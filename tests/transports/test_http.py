"""HTTP as its standards say, over raw sockets: what ``docs/contract.md`` states under *HTTP itself*."""

import gzip
import json

import pytest

from tests.matrix.server import Server
from tests.matrix.stage import Matrix
from tests.transports.raw import SAY, RawReply, ask, exchange
from tests.upstream import close, done, error_reply, finish, head, text, usage

pytestmark = pytest.mark.anyio

HELLO = (head(), text("Hel"), text("lo"), finish("stop"), usage(9, 2), done())
DOCUMENTS = [
    "/v1/functions",
    "/v1/functions/say",
    "/openapi.json",
    "/docs",
    "/docs/docs.js",
    "/docs/docs.css",
    "/playground.json",
]
RUN = "/v1/functions/say"


def reason(reply: RawReply) -> str:
    return json.loads(reply.body)["reason"]


@pytest.mark.parametrize("path", [*DOCUMENTS, "/healthz", "/readyz"])
async def test_head_is_get_without_its_body(server: Server, path: str) -> None:
    whole, bare = await ask(server, "GET", path), await ask(server, "HEAD", path)
    for reply in (whole, bare):
        reply.headers.pop("date")
    assert (bare.status, bare.headers) == (whole.status, whole.headers)
    assert (len(whole.body), bare.body) == (int(whole.headers["content-length"]), b"")


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/invoke", "OPTIONS, POST"),
        (RUN, "GET, HEAD, OPTIONS, POST"),
        ("/openapi.json", "GET, HEAD, OPTIONS"),
        ("/healthz", "GET, HEAD, OPTIONS"),
    ],
)
async def test_options_tells_the_methods_and_is_no_run(matrix: Matrix, path: str, methods: str) -> None:
    reply = await ask(matrix.server, "OPTIONS", path)
    assert (reply.status, reply.headers["allow"], reply.body) == (204, methods, b"")
    assert not {"content-length", "transfer-encoding"} & reply.headers.keys()
    assert matrix.logged("http") == []


async def test_head_of_what_only_takes_post_is_refused(server: Server) -> None:
    reply = await ask(server, "HEAD", "/invoke")
    assert (reply.status, reply.headers["allow"]) == (405, "OPTIONS, POST")


@pytest.mark.parametrize("path", DOCUMENTS)
async def test_what_a_caller_has_already_is_not_sent_again(server: Server, path: str) -> None:
    tag = (await ask(server, "GET", path)).headers["etag"]
    for condition in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        reply = await ask(server, "GET", path, f"if-none-match: {condition}")
        assert (reply.status, reply.body, reply.headers["etag"]) == (304, b"", tag)
        assert reply.headers["cache-control"] == "no-cache"
    assert (await ask(server, "GET", path, 'if-none-match: "other"')).status == 200


async def test_a_path_with_a_slash_at_its_end_is_another_one(server: Server) -> None:
    reply = await ask(server, "POST", f"{RUN}/", body=SAY)
    assert (reply.status, reason(reply)) == (404, "unknown_path")
    assert "location" not in reply.headers


async def test_a_target_in_absolute_form_is_its_path(matrix: Matrix) -> None:
    matrix.provider.script(*HELLO)
    reply = await ask(matrix.server, "POST", f"http://localhost:{matrix.server.port}{RUN}?x=1", body=SAY)
    assert json.loads(reply.body)["output"] == "Hello"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (["content-type: application/json", "content-type: application/json; charset=utf-8"], 200),
        (["content-type: application/json", "content-type: text/plain"], 415),
        (["content-type: text/plain", "content-type: application/json"], 415),
        (["content-type: application/json, text/plain"], 415),
        (["content-type: APPLICATION/JSON ; charset=UTF-8"], 200),
        (["content-type: application/merge-patch+json"], 200),
        (["content-type: text/json"], 415),
        (["accept: text/html", "accept: text/plain"], 200),
        (["accept: text/html", "accept: image/png"], 406),
        (["content-encoding: identity"], 200),
        (["content-encoding: gzip, gzip"], 415),
        (["content-encoding: gzip", "content-encoding: br"], 415),
        (["content-encoding: zstd"], 415),
    ],
)
async def test_headers_that_come_twice_or_oddly(matrix: Matrix, headers: list[str], status: int) -> None:
    if status == 200:
        matrix.provider.script(*HELLO)
    reply = await ask(matrix.server, "POST", RUN, *headers, body=SAY)
    assert reply.status == status
    coded = any(header.startswith("content-encoding") for header in headers)
    assert ("accept-encoding" in reply.headers) == (coded and status == 415)


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "GZIP"])
@pytest.mark.parametrize("size", [7, 1_000_000])
async def test_a_compressed_body_may_come_in_members(matrix: Matrix, coding: str, size: int) -> None:
    matrix.provider.script(*HELLO)
    whole = SAY[:-2] + b" " * size + b"}}"
    body = gzip.compress(whole[:5]) + gzip.compress(b"") + gzip.compress(whole[5:])
    reply = await ask(matrix.server, "POST", RUN, f"content-encoding: {coding}", body=body)
    assert json.loads(reply.body)["output"] == "Hello"
    assert (await matrix.provider.requested()).request.json["messages"][-1]["content"] == "hi"


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        (gzip.compress(b" " * 1_048_577), "request_too_large"),
        (gzip.compress(b"") * 60_000, "request_too_large"),  # says nothing for ever
        (gzip.compress(SAY) + b"trailing", "invalid_json"),
        (SAY, "invalid_json"),
        (gzip.compress(b""), "invalid_json"),
    ],
    ids=["a bomb", "empty members", "something after it", "none at all", "empty"],
)
async def test_a_compressed_body_that_is_none_or_too_much(matrix: Matrix, body: bytes, refusal: str) -> None:
    reply = await ask(matrix.server, "POST", RUN, "content-encoding: gzip", body=body)
    assert reason(reply) == refusal


async def test_a_wrong_path_is_one_however_its_body_is_coded(server: Server) -> None:
    reply = await ask(server, "POST", "/nowhere", "content-encoding: br", body=SAY)
    assert reason(reply) == "unknown_path"


async def test_the_body_is_asked_for_when_it_is_wanted(matrix: Matrix) -> None:
    matrix.provider.script(*HELLO)
    request = f"POST {RUN} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nexpect: 100-Continue\r\n"
    came = await exchange(matrix.server, f"{request}content-length: {len(SAY)}\r\n\r\n".encode(), SAY)
    interim, separator, rest = came.partition(b"HTTP/1.1 100 Continue\r\n\r\n")
    assert (interim, bool(separator), RawReply.read(rest).status) == (b"", True, 200)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ("content-length: 2000000\r\nexpect: 100-continue\r\n", 413),
        ("content-length: 2\r\nexpect: 100-continue\r\ncontent-type: text/plain\r\n", 415),
        ("content-length: 2\r\nexpect: 100-continue, more\r\n", 417),
    ],
)
async def test_a_body_that_will_not_be_read_is_not_asked_for(server: Server, headers: str, status: int) -> None:
    request = f"POST {RUN} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n"
    assert RawReply.read(await exchange(server, request.encode())).status == status


async def test_the_connection_goes_on_after_a_request_whose_body_was_not_read(server: Server) -> None:
    refused = f"POST /invoke HTTP/1.1\r\nhost: localhost\r\nexpect: more\r\ncontent-length: {len(SAY)}\r\n\r\n"
    second = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    came = await exchange(server, refused.encode() + SAY + second)
    assert came.count(b"HTTP/1.1 417 ") == came.count(b"HTTP/1.1 200 ") == 1


class TestHttp10:
    """Who speaks HTTP/1.0 gets no chunks, no interim reply, and can tell a part from the whole."""

    @pytest.mark.parametrize("accept", ["application/json", "text/plain"])
    async def test_one_piece_has_its_length(self, matrix: Matrix, accept: str) -> None:
        matrix.provider.script(*HELLO)
        reply = await ask(matrix.server, "POST", RUN, f"accept: {accept}", body=SAY, version="1.0")
        assert reply.status == 200
        assert int(reply.headers["content-length"]) == len(reply.body)
        assert reply.headers["connection"] == "close"
        assert b"Hello" in reply.body

    @pytest.mark.parametrize("accept", ["text/event-stream", "application/x-ndjson"])
    async def test_a_stream_of_events_ends_with_the_connection(self, matrix: Matrix, accept: str) -> None:
        matrix.provider.script(*HELLO)
        reply = await ask(matrix.server, "POST", RUN, f"accept: {accept}", body=SAY, version="1.0")
        assert not {"content-length", "transfer-encoding"} & reply.headers.keys()
        assert reply.body.startswith((b"event: started\n", b'{"type":"started"'))
        assert b"finished" in reply.body
        assert reply.body.endswith(b"}\n\n" if accept == "text/event-stream" else b"}\n")

    async def test_a_text_that_is_cut_is_a_failure_and_no_text(self, matrix: Matrix) -> None:
        matrix.provider.script(head(), text("Hel"), close())
        reply = await ask(matrix.server, "POST", RUN, "accept: text/plain", body=SAY, version="1.0")
        assert (reply.status, reason(reply)) == (502, "upstream_truncated")

    async def test_an_early_failure_is_a_status(self, matrix: Matrix) -> None:
        matrix.provider.script(error_reply(429, "slow down", headers={"retry-after": "2"}))
        reply = await ask(matrix.server, "POST", RUN, "accept: text/event-stream", body=SAY, version="1.0")
        assert (reply.status, reply.headers["retry-after"]) == (429, "2")

    @pytest.mark.parametrize("expectation", ["100-continue", "more"])
    async def test_there_are_no_expectations(self, matrix: Matrix, expectation: str) -> None:
        matrix.provider.script(*HELLO)
        reply = await ask(matrix.server, "POST", RUN, f"expect: {expectation}", body=SAY, version="1.0")
        assert reply.status == 200

    async def test_a_preflight_has_no_body_to_frame(self, matrix: Matrix) -> None:
        reply = await ask(matrix.server, "OPTIONS", RUN, version="1.0")
        assert (reply.status, reply.body) == (204, b"")
