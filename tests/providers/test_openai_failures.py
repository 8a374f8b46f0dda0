"""Every way in which a server can fail before its answer begins, as the reason that a caller gets."""

import asyncio
import json

import pytest

from deltawire.domain.errors import Reason
from tests.providers.asking import KEY, Heard, Signs, ask, ask_once, first_piece, provider_at
from tests.upstream import (
    Step,
    Upstream,
    answer,
    body,
    close,
    error_reply,
    head,
    html_reply,
    never_accepting_port,
    raw,
    refused_port,
    repeat,
    reply,
    reset,
    silence,
    text,
    together,
)

pytestmark = pytest.mark.anyio


async def heard_from(*steps: Step) -> Heard:
    async with Upstream() as upstream:
        upstream.script(*steps)
        return await ask_once(upstream)


@pytest.mark.parametrize(
    ("status", "reason", "retry_safe"),
    [
        (400, Reason.upstream_rejected, False),
        (401, Reason.upstream_auth, False),
        (403, Reason.upstream_auth, False),
        (404, Reason.upstream_rejected, False),
        (408, Reason.upstream_error, False),
        (409, Reason.upstream_error, False),
        (413, Reason.upstream_rejected, False),
        (422, Reason.upstream_rejected, False),
        (429, Reason.upstream_rate_limited, True),
        (500, Reason.upstream_error, False),
        (502, Reason.upstream_error, False),
        (503, Reason.upstream_error, True),
        (504, Reason.upstream_error, False),
        (529, Reason.upstream_error, True),
        (599, Reason.upstream_error, False),
        (201, Reason.upstream_invalid, False),
        (204, Reason.upstream_invalid, False),
        (301, Reason.upstream_invalid, False),
        (307, Reason.upstream_invalid, False),
    ],
)
async def test_every_status_has_its_reason(status: int, reason: Reason, retry_safe: bool) -> None:
    failure = (await heard_from(head(status, length=0))).failure
    assert (failure.reason, failure.retry_safe, failure.retry_after) == (reason, retry_safe, None)
    assert failure.message.startswith(f"the provider 'up' answered {status}")


async def test_a_redirect_is_not_followed() -> None:
    async with Upstream() as upstream:
        upstream.script(head(307, headers={"location": f"{upstream.base_url}/elsewhere"}, length=0))
        failure = (await ask_once(upstream)).failure
        assert (failure.reason, len(upstream.requests)) == (Reason.upstream_invalid, 1)


async def test_an_html_page_of_a_proxy_is_told_by_its_status_alone() -> None:
    failure = (await heard_from(html_reply(502))).failure
    assert failure.message == "the provider 'up' answered 502 Bad Gateway"


async def test_html_inside_of_a_json_error_is_not_quoted() -> None:
    failure = (await heard_from(error_reply(502, "<!DOCTYPE html><html><h1>Bad\nGateway</h1></html>"))).failure
    assert failure.message == "the provider 'up' answered 502 Bad Gateway"


async def test_a_foreign_message_is_one_bounded_line() -> None:
    failure = (await heard_from(error_reply(400, "no\r\n\x00\x1b[31m way\u2028 " + "x" * 10_000))).failure
    words = failure.message.removeprefix("the provider 'up' answered 400 Bad Request: ")
    assert words.startswith("no [31m way xxx")
    assert len(words) == 300
    assert words.isprintable()


@pytest.mark.parametrize(
    "document",
    [
        {"error": "plain words"},
        {"message": "plain words"},
        {"detail": "plain words"},
        {"error": {"message": "plain words", "code": 400}},
        {"error": {"message": "plain words", "type": "BadRequestError", "param": None, "code": None}},
        {"object": "error", "message": "plain words", "type": "BadRequestError", "code": 400},
    ],
)
async def test_the_words_are_found_in_every_known_shape_of_error(document: object) -> None:
    failure = (await heard_from(reply(400, json.dumps(document).encode()))).failure
    assert failure.message == "the provider 'up' answered 400 Bad Request: plain words"


@pytest.mark.parametrize("document", [b"", b"{", b"[]", b"null", b'"x"', b"5", b"\xff", b"[" * 9000, b'{"error":[1]}'])
async def test_an_error_without_words_is_its_status(document: bytes) -> None:
    failure = (await heard_from(reply(500, document))).failure
    assert failure.message == "the provider 'up' answered 500 Internal Server Error"


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
async def test_our_key_is_in_no_message(status: int) -> None:
    failure = (await heard_from(error_reply(status, f"wrong key {KEY}: 'Bearer {KEY}'"))).failure
    assert KEY not in failure.message


async def test_a_key_in_a_header_of_the_settings_is_in_no_message() -> None:
    headers = {"X-Api-Key": "header-secret", "Authorization": "Basic dXNlcjpwYXNz", "X-Title": "shop"}
    async with Upstream() as upstream:
        upstream.script(error_reply(400, "shop: header-secret and dXNlcjpwYXNz are wrong"))
        failure = (await ask_once(upstream, headers=headers)).failure
        assert failure.message.endswith("shop: … and … are wrong")


async def test_a_wrong_key_says_where_it_is_set() -> None:
    failure = (await heard_from(error_reply(401, "Incorrect API key provided: sk-ve**ret"))).failure
    assert failure.message == (
        "the provider 'up' answered 401 Unauthorized: it does not accept our credentials; check the api_key of 'up'"
    )


async def test_a_filtered_prompt_is_told_as_such_and_not_sent_again() -> None:
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"violence": {"filtered": True}}}
    step = error_reply(400, "the prompt was filtered", code="content_filter", param="prompt", innererror=inner)
    failure = (await heard_from(step)).failure
    assert (failure.reason, failure.retry_safe) == (Reason.content_filter, False)
    assert "the prompt was filtered" in failure.message
    assert "violence" in failure.message


async def test_a_quota_that_is_used_up_is_not_tried_again() -> None:
    failure = (await heard_from(error_reply(429, "pay", code="insufficient_quota"))).failure
    assert (failure.reason, failure.retry_safe) == (Reason.upstream_rate_limited, False)


@pytest.mark.parametrize(("status", "said", "retry_safe"), [(429, "false", False), (500, "true", True)])
async def test_a_provider_can_say_whether_to_try_again(status: int, said: str, retry_safe: bool) -> None:
    failure = (await heard_from(error_reply(status, headers={"x-should-retry": said}))).failure
    assert failure.retry_safe is retry_safe


@pytest.mark.parametrize("header", [{"retry-after-ms": "300"}, {"Retry-After": "0.3"}])
async def test_the_wait_that_a_provider_asks_for_is_told(header: dict[str, str]) -> None:
    assert (await heard_from(error_reply(429, headers=header))).failure.retry_after == 0.3


@pytest.mark.parametrize(
    "after_the_head",
    [[close()], [body(b'{"error":'), reset()], [body(b"x"), close()], [repeat(body(b"x" * 65536))], [silence()]],
    ids=["cut", "reset", "half", "endless", "silent"],
)
async def test_a_status_counts_whatever_becomes_of_its_body(after_the_head: list[Step]) -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.script(head(429, headers={"retry-after": "7"}), *after_the_head)
        failure = (await asyncio.wait_for(ask(provider), 3)).failure
        assert (failure.reason, failure.retry_after) == (Reason.upstream_rate_limited, 7)
        assert failure.message == "the provider 'up' answered 429 Too Many Requests"
        await upstream.all_left()


@pytest.mark.parametrize(
    "content_type", ["text/html", "text/plain", "application/octet-stream", "x/" + "y" * 500, None]
)
async def test_a_reply_that_is_neither_events_nor_json_is_invalid(content_type: str | None) -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.script(head(content_type=content_type), body(b"<html>secret page</html>"), silence())
        failure = (await ask(provider)).failure
        assert failure.reason is Reason.upstream_invalid
        assert "secret page" not in failure.message
        assert len(failure.message) < 200
        await upstream.all_left()


async def test_interim_replies_are_skipped() -> None:
    interim = raw(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n")
    assert (await heard_from(interim, answer("ok"))).text == "ok"


@pytest.mark.parametrize(
    "nonsense",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: five\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
    ],
)
async def test_a_reply_that_is_no_http_is_invalid(nonsense: bytes) -> None:
    failure = (await heard_from(raw(nonsense), close())).failure
    assert (failure.reason, failure.retry_safe) == (Reason.upstream_invalid, False)
    assert failure.message == "the provider 'up' does not speak HTTP/1.1"


async def test_a_switch_of_protocols_that_nobody_asked_for_is_invalid() -> None:
    step = raw(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\nPRI")
    assert (await heard_from(step, silence())).failure.reason is Reason.upstream_invalid


@pytest.mark.parametrize("nonsense", [b"zz\r\nabc\r\n", b"-5\r\nabc\r\n", b"3\r\nabcdef\r\n"])
async def test_a_broken_chunk_cuts_the_reply_after_its_text(nonsense: bytes) -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
        upstream.script(head(), together(text("a"), raw(nonsense)), silence())
        heard = await ask(provider)
        assert (heard.text, heard.failure.reason) == ("a", Reason.upstream_truncated)
        await upstream.all_left()


async def test_a_content_length_that_promises_more_is_a_truncated_reply() -> None:
    heard = await heard_from(head(length=10_000), text("a"), close())
    assert (heard.text, heard.failure.reason) == ("a", Reason.upstream_truncated)


async def test_a_refused_connection_may_be_tried_again() -> None:
    with refused_port() as port:
        async with provider_at(f"http://127.0.0.1:{port}/v1") as provider:
            failure = (await ask(provider)).failure
    assert (failure.reason, failure.retry_safe) == (Reason.upstream_unreachable, True)
    assert failure.message == "the provider 'up' cannot be reached: connection refused"


@pytest.mark.parametrize("host", ["nobody.invalid", "a" * 70 + ".invalid", "a..invalid"])
async def test_a_name_that_nobody_knows_is_unreachable(host: str) -> None:
    async with provider_at(f"http://{host}/v1") as provider:
        failure = (await ask(provider)).failure
    assert failure.reason is Reason.upstream_unreachable


async def test_a_server_without_tls_under_https_is_unreachable() -> None:
    async with Upstream() as upstream, provider_at(upstream.base_url.replace("http:", "https:")) as provider:
        assert (await ask(provider)).failure.reason is Reason.upstream_unreachable
        upstream._failures.clear()  # pyright: ignore[reportPrivateUsage]  (a TLS hello is no HTTP)


async def test_opening_a_connection_is_told_while_it_goes_on() -> None:
    with never_accepting_port() as port:
        signs = Signs()
        async with provider_at(f"http://127.0.0.1:{port}/v1") as provider:
            task = asyncio.create_task(first_piece(provider, signs))
            await asyncio.wait_for(signs.begun.wait(), 20)
            assert (signs.connecting_seen, signs.connected_seen) == (1, 0)
            task.cancel()
            await asyncio.wait([task])


async def test_a_request_that_was_sent_and_not_answered_has_an_unknown_outcome() -> None:
    for end in (close(), reset()):
        async with Upstream() as upstream, provider_at(upstream.base_url) as provider:
            upstream.script(end)
            failure = (await ask(provider)).failure
            assert (failure.reason, failure.retry_safe) == (Reason.outcome_unknown, False)
            assert len(upstream.requests) == 1
