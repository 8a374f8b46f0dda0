"""``deltawire serve``: what it says, how it ends, and the one line for whatever cannot work."""

import json
import os
import signal
import socket
import sys
from pathlib import Path

import httpx
import pytest

from tests.cli.apps import shop
from tests.cli.command import Ended, calling, deltawire, free_port, in_terminal, serving
from tests.upstream import Upstream, answer, head, silence, text

pytestmark = pytest.mark.anyio

ON_UPSTREAM = {"DELTAWIRE_MODEL": "openai:m", "OPENAI_API_KEY": "k"}


async def test_it_serves_the_functions_of_a_file_and_logs_one_line_when_it_listens(tmp_path: Path) -> None:
    async with Upstream() as upstream, serving(str(shop(tmp_path)), env=calling(upstream), cwd=tmp_path) as server:
        upstream.script(answer("Hel", "lo"))
        async with httpx.AsyncClient() as client:
            url = f"http://127.0.0.1:{server.port}/v1/functions/chat"
            reply = await client.post(url, json={"input": {"message": "Hi"}})
        assert reply.json()["output"] == "Hello"
        assert json.loads(await server.line())["outcome"] == "stop"
        assert await server.stopped() == 0


async def test_the_log_tells_the_address_that_is_listened_on(tmp_path: Path) -> None:
    arguments = (str(shop(tmp_path)), "--host", "0.0.0.0")
    async with serving(*arguments, env=ON_UPSTREAM, cwd=tmp_path, wait=False) as server:
        told = json.loads(await server.said('"listening"'))
        assert told["address"] == f"http://0.0.0.0:{server.port}"
        assert await server.stopped() == 0


async def test_the_app_may_come_from_the_environment_or_the_file_and_may_be_a_module(tmp_path: Path) -> None:
    shop(tmp_path)
    async with serving(env=ON_UPSTREAM | {"DELTAWIRE_APP": "shop"}, cwd=tmp_path) as server:
        assert await server.stopped() == 0
    (tmp_path / "deltawire.toml").write_text('app = "shop.py"\ngrpc_port = "off"\n')
    async with serving(env=ON_UPSTREAM, cwd=tmp_path) as server:
        assert await server.stopped(signal.SIGINT) == 0


async def test_the_banner_in_a_text_log_is_plain_and_its_curl_line_can_be_pasted(tmp_path: Path) -> None:
    port = free_port()
    arguments = ("serve", str(shop(tmp_path)), "--port", str(port), "--log-format", "text")
    async with in_terminal(*arguments, env=ON_UPSTREAM, cwd=tmp_path) as terminal:
        shown = await terminal.until("Say hello")
        assert "\x1b[" in shown
        assert f"http://127.0.0.1:{port}" in shown
    async with serving(
        str(tmp_path / "shop.py"), "--log-format", "text", env=ON_UPSTREAM, cwd=tmp_path, wait=False
    ) as server:
        lines = [await server.line()]
        while "-d" not in lines[-1]:
            lines.append(await server.line())
        assert "\x1b" not in "".join(lines)
        assert "  chat           openai:m  Answer a customer.\n" in lines
        assert f"  http  http://127.0.0.1:{server.port}\n" in lines
        assert lines[-3:] == [
            f"  curl -N http://127.0.0.1:{server.port}/v1/functions/chat \\\n",
            "    -H 'accept: text/event-stream' -H 'content-type: application/json' \\\n",
            """    -d '{"input": {"message": "Say hello"}}'\n""",
        ]
        assert await server.stopped() == 0


@pytest.mark.usefixtures("built_page")
async def test_the_banner_tells_where_the_page_is_if_there_is_one(tmp_path: Path) -> None:
    for env, there in (({}, True), ({"DELTAWIRE_HTTP__PLAYGROUND": "false"}, False)):
        arguments = (str(shop(tmp_path)), "--log-format", "text")
        async with serving(*arguments, env=ON_UPSTREAM | env, cwd=tmp_path, wait=False) as server:
            lines = [await server.line()]
            while "  curl" not in lines[-1]:
                lines.append(await server.line())
            assert (f"  page  http://127.0.0.1:{server.port}/\n" in lines) is there
            assert await server.stopped() == 0


async def refused(folder: Path, *arguments: str, **env: str) -> Ended:
    ended = await deltawire("serve", *arguments, env=ON_UPSTREAM | env, cwd=folder)
    assert ended.code == 2
    assert ended.out == b""
    return ended


async def test_no_app_is_an_error_that_tells_how_to_name_one(tmp_path: Path) -> None:
    ended = await refused(tmp_path)
    assert ended.complaint == (
        "deltawire: which functions? Name their file: deltawire serve shop.py, "
        'or set DELTAWIRE_APP=shop.py, or write app = "shop.py" into deltawire.toml'
    )


async def test_a_taken_port_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        ended = await refused(tmp_path, str(shop(tmp_path)), "--port", port)
    assert ended.complaint == (
        f"deltawire: cannot listen on 127.0.0.1:{port}: address already in use; choose another with --port"
    )


async def test_an_address_that_is_not_ours_is_one_line_too(tmp_path: Path) -> None:
    ended = await refused(tmp_path, str(shop(tmp_path)), "--host", "192.0.2.1", "--port", "1")
    assert ended.complaint.startswith("deltawire: cannot listen on 192.0.2.1:1: ")
    assert ended.complaint.endswith("; choose another with --host")


@pytest.mark.parametrize("off", ["0", "off"])
async def test_nothing_to_serve_is_an_error(tmp_path: Path, off: str) -> None:
    ended = await refused(tmp_path, str(shop(tmp_path)), "--port", off, "--grpc-port", off)
    assert ended.complaint == (
        "deltawire: both ports are off: there is nothing to serve; leave one of --port and --grpc-port out"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nothing.py"], "there is no file nothing.py: name the file with your functions"),
        (["nothing"], "there is no module nothing here: name the file with your functions"),
        (["shop.py", "--port", "http"], "--port: a port is a number up to 65535, or off"),
        (["shop.py", "--log-format", "xml"], "--log-format: Input should be 'auto', 'text' or 'json'"),
        (["shop.py", "--model", "m"], "the model 'm' of function 'chat' is written provider:model"),
        (["shop.py", "--prot", "1"], "No such option: --prot (Possible options: --host, --port)"),
    ],
)
async def test_what_is_asked_wrongly_is_one_line(tmp_path: Path, arguments: list[str], complaint: str) -> None:
    shop(tmp_path)
    assert (await refused(tmp_path, *arguments)).complaint == f"deltawire: {complaint}"


async def test_a_missing_key_is_named(tmp_path: Path) -> None:
    ended = await refused(tmp_path, str(shop(tmp_path)), OPENAI_API_KEY="")
    assert ended.complaint.endswith(
        "is in the environment variable OPENAI_API_KEY, which is not set: set OPENAI_API_KEY"
    )


@pytest.mark.parametrize(
    ("code", "line", "what"),
    [
        ("def f(:\n", 1, "invalid syntax"),
        ("x = 1\nraise ValueError('one\\ntwo')\n", 2, "ValueError: one two"),
        ("import nothing\n", 1, "ModuleNotFoundError: No module named 'nothing'"),
    ],
)
async def test_a_broken_file_is_one_line_with_its_place(tmp_path: Path, code: str, line: int, what: str) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(code)
    assert (await refused(tmp_path, "wrong.py")).complaint == f"deltawire: {file}:{line}: {what}"
    ended = await refused(tmp_path, "wrong.py", DELTAWIRE_LOG__LEVEL="debug")
    assert "Traceback (most recent call last)" in ended.err or "SyntaxError" in ended.err
    assert ended.err.endswith(f"deltawire: {file}:{line}: {what}\n")


async def test_a_call_that_is_under_way_is_played_to_its_end_and_a_second_signal_cuts_it(tmp_path: Path) -> None:
    async with Upstream() as upstream, serving(str(shop(tmp_path)), env=calling(upstream), cwd=tmp_path) as server:
        upstream.script(head(), text("a"), silence())
        async with (
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}") as client,
            client.stream(
                "POST", "/v1/functions/chat", json={"input": "Hi"}, headers={"accept": "text/plain"}
            ) as reply,
        ):
            assert await anext(reply.aiter_bytes()) == b"a"
            server.process.send_signal(signal.SIGINT)
            exchange = await upstream.requested()
            assert "calls under way: 1" in await server.said("stopping")
            assert await server.stopped(signal.SIGINT) == 0
            await exchange.client_left()


async def test_a_function_that_blocks_for_ever_does_not_hold_up_the_end(tmp_path: Path) -> None:
    async with serving(str(shop(tmp_path)), env=ON_UPSTREAM, cwd=tmp_path) as server:
        assert server.process.stdout is not None
        async with httpx.AsyncClient() as client:
            with pytest.raises(httpx.TimeoutException):
                await client.post(
                    f"http://127.0.0.1:{server.port}/v1/functions/blocked", json={"input": "x"}, timeout=0.5
                )
        assert await server.process.stdout.readline() == b"blocked\n"
        assert await server.stopped() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_the_process_of_the_local_model_is_gone_when_the_server_is(tmp_path: Path) -> None:
    async with serving(str(shop(tmp_path)), cwd=tmp_path) as server:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=60) as client:
            body = {"input": "Say hello", "settings": {"max_tokens": 3}}
            reply = await client.post("/v1/functions/chat", json=body)
            assert reply.status_code == 200, reply.text
        [model] = children(server.process.pid)
        assert await server.stopped(signal.SIGINT) == 0
        with pytest.raises(ProcessLookupError):
            os.kill(model, 0)


def children(parent: int) -> list[int]:
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(pid) for pid in found.split()]
