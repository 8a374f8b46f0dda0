"""``deltawire bench``: against the real server on every wire, through a proxy that buffers, and against servers that
lie."""

import asyncio
import contextlib
import json
import signal
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trustme

from tests.cli.command import Ended, deltawire, ending, in_terminal, started
from tests.field.proxies import nginx
from tests.matrix.provider import Provider
from tests.matrix.server import Server
from tests.upstream import (
    Gate,
    Step,
    Upstream,
    answer,
    body,
    delay,
    done,
    error_reply,
    finish,
    head,
    refused_port,
    reply,
    silence,
    text,
    usage,
)

pytestmark = pytest.mark.anyio

WIRES = ["sse", "ndjson", "text", "json", "invoke", "ws", "connect", "grpc-web", "grpc"]
every_wire = pytest.mark.parametrize("wire", WIRES)
ASKED = ("--function", "say", "--input", '{"message":"hi"}')
PACED: list[Step] = [head(), *(step for number in range(12) for step in (text(f"{number} "), delay(0.03)))]
"""Its subject is time: how pieces stand apart."""

DEEP = b'{"x":' + b"[" * 20_000 + b"]" * 20_000 + b"}"
"""Deeper than any reader goes."""


class Deployed(NamedTuple):
    """The real server, on a scripted upstream."""

    upstream: Upstream
    port: int
    grpc_port: int

    def url(self, wire: str = "sse") -> str:
        return f"http://127.0.0.1:{self.grpc_port if wire == 'grpc' else self.port}"


@pytest.fixture
async def there(provider: Provider, server: Server) -> Deployed:
    await provider.begin()
    return Deployed(provider, server.port, server.grpc_port)


@asynccontextmanager
async def lying() -> AsyncGenerator[tuple[Upstream, str]]:
    """Something at a URL that answers as it likes."""
    async with Upstream() as upstream:
        yield upstream, f"http://127.0.0.1:{upstream.port}"


def sse(*events: str) -> Step:
    return body("".join(f"{event}\n\n" for event in events).encode())


def told(ended: Ended) -> dict[str, Any]:
    return json.loads(ended.out)


@every_wire
async def test_every_wire_counts_what_came(there: Deployed, tmp_path: Path, wire: str) -> None:
    there.upstream.always(answer("Hel", "lo"))
    given = ("--function", "say", "--wire", wire, "--requests", "5", "--callers", "2", "--json")
    ended = await deltawire("bench", there.url(wire), *given, cwd=tmp_path)
    asked = [request.json["messages"][-1]["content"] for request in there.upstream.requests]
    found = told(ended)
    assert ended.code == 0
    assert (found["ok"], found["failed"], found["unfinished"]) == (5, 0, 0)
    assert asked == ["Say hello"] * 5  # made from the schema of what it takes
    streams = wire not in ("json", "invoke")
    assert (found["pieces"] is not None, found["first_piece"] is not None) == (streams, streams)
    assert found["whole"]["max"] > 0
    assert found["tokens"] == (
        None if wire in ("text", "invoke") else {"least": 2, "median": 2, "most": 2}  # as the upstream has counted
    )


@every_wire
async def test_every_wire_tells_why_calls_failed(there: Deployed, tmp_path: Path, wire: str) -> None:
    there.upstream.always(error_reply(429, "too many"))
    given = ("--wire", wire, *ASKED, "--requests", "20", "--callers", "1", "--json")
    ended = await deltawire("bench", there.url(wire), *given, cwd=tmp_path)
    found = told(ended)
    assert ended.code == 1
    [failure] = found["failures"]
    assert failure["reason"] == "upstream_rate_limited"
    assert "too many" in failure["message"]
    assert (found["ok"], found["stopped_early"]) == (0, True)
    assert found["failed"] == 5  # that is enough to know: calls may cost money


async def test_one_failure_among_many_calls_is_an_exit_code(there: Deployed, tmp_path: Path) -> None:
    there.upstream.script(answer("a"))
    there.upstream.script(error_reply(400, "no"))
    there.upstream.always(answer("a"))
    ended = await deltawire("bench", there.url(), *ASKED, "--requests", "4", "--callers", "1", cwd=tmp_path)
    assert ended.code == 1
    assert "  calls           3 ok, 1 failed, in " in ended.out.decode()
    assert "  1  upstream_rejected  " in ended.out.decode()


async def test_callers_call_at_once(there: Deployed, tmp_path: Path) -> None:
    gate = Gate()
    there.upstream.always(head(), text("a"), gate.wait(), finish(), usage(9, 1), done())
    arguments = ("bench", there.url(), *ASKED, "--requests", "3", "--callers", "3", "--json")
    process = await started(*arguments, cwd=tmp_path)
    async with ending(process):
        await gate.reached(3)  # none has had an answer
        gate.open()
        out, _ = await process.communicate()
    assert json.loads(out)["ok"] == 3


@pytest.mark.parametrize("wire", ["sse", "connect", "ws", "grpc"])
async def test_pieces_that_come_apart_are_told_as_such(there: Deployed, tmp_path: Path, wire: str) -> None:
    there.upstream.always(*PACED, finish(), usage(9, 12), done())
    given = (*ASKED, "--wire", wire, "--requests", "2", "--callers", "1")
    ended = await deltawire("bench", there.url(wire), *given, cwd=tmp_path)
    assert ended.code == 0
    assert "  arrival         one by one\n" in ended.out.decode()
    assert "Traps" not in ended.out.decode()


async def test_a_proxy_that_buffers_is_told_in_words_with_the_way_out(there: Deployed, tmp_path: Path) -> None:
    """nginx told to overlook that nothing may be held back, over HTTP/1.0, as it speaks unless told otherwise."""
    there.upstream.always(*PACED, finish(), usage(9, 12), done())
    more = "proxy_ignore_headers X-Accel-Buffering; proxy_set_header Host localhost;"
    with nginx(tmp_path, there.port, more) as url:
        ended = await deltawire("bench", url, *ASKED, "--requests", "2", "--callers", "1", cwd=tmp_path)
    out = ended.out.decode()
    assert ended.code == 0
    assert "  arrival         all at once, at the end\n" in out
    assert "  on the way      server: nginx/" in out
    assert "proxy_buffering off" in out
    assert 'docs/clients.md, "Traps"' in out


async def test_the_section_that_it_names_exists() -> None:
    page = (Path(__file__).parents[2] / "docs" / "clients.md").read_text()
    assert "proxy_buffering off;" in page.partition("\n## Traps\n")[2]


async def test_a_stream_that_is_cut_is_a_failure(tmp_path: Path) -> None:
    async with lying() as (server, url):
        server.script(head(), sse('event: text\ndata: {"text":"a"}'))
        server.always(head(), sse('data: {"text":"a"}', 'data: {"finish_reason":"stop"}'))
        ended = await deltawire("bench", url, *ASKED, "--requests", "2", "--callers", "1", "--json", cwd=tmp_path)
    found = told(ended)
    assert [failure["reason"] for failure in found["failures"]] == ["cut"]
    assert (ended.code, found["ok"], found["failed"]) == (1, 1, 1)


async def test_a_call_that_never_ends_is_given_up(tmp_path: Path) -> None:
    async with lying() as (server, url):
        server.always(head(), sse('data: {"text":"a"}'), silence())
        given = (*ASKED, "--requests", "1", "--timeout", "0.2", "--json")
        ended = await deltawire("bench", url, *given, cwd=tmp_path)
        await server.all_left()
    [failure] = told(ended)["failures"]
    assert failure["reason"] == "late"
    assert failure["message"].startswith("the whole answer did not come within 0.2 s")


async def test_headers_go_out_and_are_not_shown(tmp_path: Path) -> None:
    async with lying() as (server, url):
        server.always(head(), sse('data: {"text":"a"}', 'data: {"finish_reason":"stop"}'))
        given = (*ASKED, "--header", "authorization: Bearer hush", "--header", "X-Team: blue", "--max-tokens", "7")
        ended = await deltawire("bench", url, *given, "--requests", "1", cwd=tmp_path)
        [request] = server.requests
    assert ended.code == 0
    assert (request.headers["authorization"], request.headers["x-team"]) == ("Bearer hush", "blue")
    assert request.json == {"input": {"message": "hi"}, "settings": {"max_tokens": 7}}
    assert "hush" not in ended.out.decode() + ended.err


async def test_the_input_may_come_on_stdin(tmp_path: Path) -> None:
    async with lying() as (server, url):
        server.always(head(), sse('data: {"text":"a"}', 'data: {"finish_reason":"stop"}'))
        given = ("--function", "say", "--input", "-", "--requests", "1")
        await deltawire("bench", url, *given, cwd=tmp_path, stdin=b'{"price": 1.10}')
        assert server.requests[0].body == b'{"input":{"price": 1.10}}'


async def test_a_servers_words_cannot_paint_the_screen(tmp_path: Path) -> None:
    async with lying() as (server, url):
        server.always(reply(500, json.dumps({"reason": "[/b]\x1b[2J", "detail": "[red]\x1b]0;t"}).encode()))
        ended = await deltawire("bench", url, *ASKED, "--requests", "1", cwd=tmp_path)
    assert (ended.code, "\x1b" in ended.out.decode()) == (1, False)
    assert "  1  [/b]␛[2J  [red]␛]0;t\n" in ended.out.decode()


async def test_a_connection_is_kept_from_call_to_call(tmp_path: Path) -> None:
    async with lying() as (server, url):
        server.always(head(), sse('data: {"text":"a"}', 'data: {"finish_reason":"stop"}'))
        server.script(reply(404, b"{}"))  # nor does a refusal close it
        await deltawire("bench", url, *ASKED, "--requests", "6", "--callers", "2", cwd=tmp_path)
        assert (len(server.requests), server.accepted) == (6, 2)


async def test_ctrl_c_shows_what_was_measured_so_far(tmp_path: Path) -> None:
    async with lying() as (server, url):
        server.script(head(), sse('data: {"text":"a"}', 'data: {"finish_reason":"stop"}'))
        server.always(head(), silence())
        process = await started("bench", url, *ASKED, "--callers", "1", "--json", cwd=tmp_path)
        async with ending(process):
            await server.requested()
            await server.requested()
            process.send_signal(signal.SIGINT)
            out, _ = await process.communicate()
        await server.all_left()
    found = json.loads(out)
    assert (process.returncode, found["ok"], found["failed"], found["unfinished"]) == (130, 1, 0, 1)


async def test_seconds_bound_it_as_well(tmp_path: Path) -> None:
    async with lying() as (server, url):
        server.always(head(), sse('data: {"text":"a"}', 'data: {"finish_reason":"stop"}'))
        ended = await deltawire("bench", url, *ASKED, "--seconds", "0.3", "--json", cwd=tmp_path)
    found = told(ended)
    assert (ended.code, found["failed"], found["unfinished"]) == (0, 0, 0)
    assert found["ok"] >= 1


async def test_the_number_of_calls_is_said_before_and_in_a_pipe_nothing_more(tmp_path: Path) -> None:
    async with lying() as (server, url):
        server.always(head(), sse('data: {"text":"a"}', 'data: {"finish_reason":"stop"}'))
        ended = await deltawire("bench", url, *ASKED, cwd=tmp_path)
        assert len(server.requests) == 20
    assert ended.complaint == (
        f"20 calls of 'say' at {url} over server-sent events, by 4 callers at once; Ctrl-C ends it"
    )


async def test_a_terminal_shows_how_far_it_is(tmp_path: Path) -> None:
    gate = Gate()
    async with lying() as (server, url):
        server.always(head(), gate.wait(), sse('data: {"text":"a"}', 'data: {"finish_reason":"stop"}'))
        async with in_terminal("bench", url, *ASKED, "--requests", "1", cwd=tmp_path) as terminal:
            await terminal.until("0 of 1 ended · 1 under way")
            gate.open()
            shown = await terminal.until(None)
    last = shown.rpartition("\x1b[K")[2]  # the line is gone
    assert ("1 ok" in last, "under way" in last) == (True, False)


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        (reply(401, b"who?"), "status 401: it asks who is calling: name what it asks for, e.g. --header"),
        (reply(404, b"<html>", headers={"server": "Apache"}), "status 404 from Apache: nothing is served there"),
        (reply(200, b"<html>"), "GET /v1/functions answers, but not as deltawire does"),
        (reply(301, b"", headers={"location": "https://x/"}), "status 301: it points to https://x/: name that URL"),
        (reply(500, DEEP), "status 500: its reply is none of deltawire's"),
        (reply(200, b'{"functions":[],"x":%b}' % DEEP), "GET /v1/functions answers, but not as deltawire does"),
        (reply(200, b" " * 17 * 1024 * 1024), "GET /v1/functions answers, but not as deltawire does"),
    ],
    ids=["401", "404", "page", "301", "500", "deep", "long"],
)
async def test_what_is_no_deltawire_is_told_before_a_call(tmp_path: Path, steps: Step, complaint: str) -> None:
    async with lying() as (server, url):
        server.always(steps)
        ended = await deltawire("bench", url, cwd=tmp_path)
        assert [request.method for request in server.requests] == ["GET"]
    assert ended.code == 1
    assert ended.complaint.startswith(f"deltawire: {url}: {complaint}")


async def test_a_list_that_never_comes_is_not_waited_for(tmp_path: Path) -> None:
    async with lying() as (server, url):
        server.always(head(), silence())
        ended = await deltawire("bench", url, "--timeout", "0.2", cwd=tmp_path)
        await server.all_left()
    assert (ended.code, "did not come within 0.2 s" in ended.complaint) == (1, True)


async def test_somebody_elses_schema_is_told_with_the_way_out(tmp_path: Path) -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": True}}
    async with lying() as (server, url):
        server.always(reply(200, json.dumps({"functions": [{"name": "chat", "input": schema}]}).encode()))
        ended = await deltawire("bench", url, cwd=tmp_path)
    assert (ended.code, "give it --input" in ended.complaint) == (2, True)


async def test_a_certificate_that_nobody_vouches_for_is_told_with_the_way_out(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)  # pyright: ignore[reportUnknownMemberType]
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    async with await asyncio.start_server(_says_401, "127.0.0.1", 0, ssl=context) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ended = await deltawire("bench", url, cwd=tmp_path)
        assert (ended.code, "not trusted" in ended.complaint, "SSL_CERT_FILE" in ended.complaint) == (1, True, True)
        trusting = {"SSL_CERT_FILE": str(tmp_path / "authority.pem")}
        ended = await deltawire("bench", url, env=trusting, cwd=tmp_path)
        assert "status 401" in ended.complaint


async def _says_401(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n")
    writer.close()


async def test_nobody_there_and_no_tls_are_told(there: Deployed, tmp_path: Path) -> None:
    with refused_port() as port:
        url = f"http://127.0.0.1:{port}"
        ended = await deltawire("bench", url, cwd=tmp_path)
    assert (ended.code, ended.complaint) == (1, f"deltawire: {url}: it cannot be reached: connection refused")
    ended = await deltawire("bench", f"https://127.0.0.1:{there.port}", cwd=tmp_path)
    assert ended.complaint.endswith("it does not speak TLS: write http:// instead of https://")
    ended = await deltawire("bench", there.url(), "--wire", "grpc", cwd=tmp_path)
    assert "gRPC listens on a port of its own" in ended.complaint
    ended = await deltawire("bench", there.url(), "--function", "sumarize", cwd=tmp_path)
    assert ended.complaint.startswith("deltawire: no function named 'sumarize' there; known: '")


def listing(*names: str) -> Step:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return reply(200, json.dumps({"functions": [{"name": name, "input": schema} for name in names]}).encode())


@pytest.mark.parametrize(("names", "chosen"), [(["only"], "only"), (["one", "chat", "two"], "chat")])
async def test_the_only_function_or_chat_is_called(tmp_path: Path, names: list[str], chosen: str) -> None:
    async with lying() as (server, url):
        server.script(listing(*names))
        server.script(head(), sse('data: {"text":"a"}', 'data: {"finish_reason":"stop"}'))
        ended = await deltawire("bench", f"{url}/llm/", "--requests", "1", cwd=tmp_path)
        paths = [request.path for request in server.requests]
        assert server.requests[1].json == {"input": {"text": "Say hello"}}
    assert (ended.code, paths) == (0, ["/llm/v1/functions", f"/llm/v1/functions/{chosen}"])


async def test_of_several_functions_one_must_be_named(tmp_path: Path) -> None:
    async with lying() as (server, url):
        server.script(listing("one", "two"))
        ended = await deltawire("bench", url, cwd=tmp_path)
    assert ended.code == 2
    assert ended.complaint == "deltawire: which function? Name one with --function; known: 'one', 'two'"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--callers", "100000"), "'--callers'"),
        (("--requests", "1000000"), "'--requests'"),
        (("--seconds", "86400"), "'--seconds'"),
        (("--wire", "carrier-pigeon"), "no wire named 'carrier-pigeon'; known: sse, "),
        (("--input", "{"), "the input is not JSON"),
        (("--header", "hush"), "a --header is written as 'name: value'"),
    ],
)
async def test_what_makes_no_sense_is_refused(tmp_path: Path, arguments: tuple[str, ...], complaint: str) -> None:
    ended = await deltawire("bench", "http://127.0.0.1:1", *arguments, cwd=tmp_path)
    assert ended.code == 2
    assert complaint in ended.complaint
    assert "hush" not in ended.complaint
