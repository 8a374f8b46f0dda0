"""``deltawire serve`` with a gRPC port: alone or beside HTTP, taken, and over restarts."""

import json
import socket
from pathlib import Path

import pytest
import trustme

from deltawire.v1 import functions_pb2 as pb
from tests.cli.apps import shop
from tests.cli.command import Server, calling, deltawire, free_port, serving
from tests.transports.grpc_port.caller import functions
from tests.upstream import Upstream, answer

pytestmark = pytest.mark.anyio

ON_UPSTREAM = {"DELTAWIRE_MODEL": "openai:m", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}


async def _listed(port: int) -> list[str]:
    async with functions(port) as stub:
        listed = await stub.list(pb.ListRequest(), timeout=10, wait_for_ready=True)
        return [function.name for function in listed.functions]


async def test_grpc_is_served_without_http(tmp_path: Path) -> None:
    port = free_port()
    arguments = (str(shop(tmp_path)), "--port", "off", "--grpc-port", str(port))
    async with (
        Upstream() as upstream,
        serving(*arguments, env=calling(upstream), cwd=tmp_path, wait=False, port=None) as server,
    ):
        told = json.loads(await server.said('"listening"'))
        assert (told["grpc"], "address" in told) == (f"127.0.0.1:{port}", False)
        upstream.script(answer("Hello"))
        async with functions(port) as stub:
            finished = await stub.invoke(pb.RunRequest(function="chat", input_json='"hi"'))
        assert finished.output_json == '"Hello"'
        assert await server.stopped() == 0


async def test_a_folder_beside_the_app_may_be_called_like_a_library(tmp_path: Path) -> None:
    folder = tmp_path / "app"  # not the current one, which `python -m` itself puts first
    (folder / "grpc").mkdir(parents=True)
    (folder / "grpc" / "__init__.py").touch()
    port = free_port()
    async with serving(str(shop(folder)), "--grpc-port", str(port), env=ON_UPSTREAM, cwd=tmp_path) as server:
        assert "chat" in await _listed(port)
        assert await server.stopped() == 0


async def test_the_banner_tells_where_grpc_listens(tmp_path: Path) -> None:
    port = free_port()
    file = str(shop(tmp_path))
    text = ("--log-format", "text", "--grpc-port", str(port))
    async with serving(file, *text, env=ON_UPSTREAM, cwd=tmp_path, wait=False) as server:
        lines = await _until(server, "  curl")
        assert f"  http  http://127.0.0.1:{server.port}\n" in lines
        assert f"  grpc  127.0.0.1:{port}\n" in lines
        assert await server.stopped() == 0
    async with serving(file, *text, "--port", "off", env=ON_UPSTREAM, cwd=tmp_path, wait=False, port=None) as server:
        lines = await _until(server, "  grpcurl")
        assert not [line for line in lines if "http" in line]
        assert lines[-1] == "  grpcurl -plaintext \\\n"
        assert (await server.line()).startswith("    -d '{")
        assert await server.line() == f"    127.0.0.1:{port} deltawire.v1.Functions/Stream\n"
        assert await server.stopped() == 0


async def test_the_banner_tells_that_grpc_is_in_tls(tmp_path: Path) -> None:
    cert, key, port = tmp_path / "cert.pem", tmp_path / "key.pem", free_port()
    own = trustme.CA().issue_cert("127.0.0.1")
    own.cert_chain_pems[0].write_to_path(cert)
    own.private_key_pem.write_to_path(key)
    env = {**ON_UPSTREAM, "DELTAWIRE_GRPC__TLS_CERT": str(cert), "DELTAWIRE_GRPC__TLS_KEY": str(key)}
    text = ("--log-format", "text", "--grpc-port", str(port))
    async with serving(str(shop(tmp_path)), *text, env=env, cwd=tmp_path, wait=False) as server:
        assert f"  grpc  127.0.0.1:{port}  in TLS\n" in await _until(server, "  curl")
        assert await server.stopped() == 0


async def _until(server: Server, beginning: str) -> list[str]:
    lines = [await server.line()]
    while not lines[-1].startswith(beginning):
        lines.append(await server.line())
    return lines


@pytest.mark.parametrize("reload", [(), ("--reload",)], ids=["once", "reload"])
async def test_a_taken_grpc_port_is_one_line(tmp_path: Path, reload: tuple[str, ...]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        arguments = ("serve", str(shop(tmp_path)), "--port", str(free_port()), "--grpc-port", port, *reload)
        ended = await deltawire(*arguments, env=ON_UPSTREAM, cwd=tmp_path)
    assert ended.code == 2
    assert ended.complaint == (
        f"deltawire: cannot listen on 127.0.0.1:{port}: address already in use; choose another with --grpc-port"
    )


@pytest.mark.parametrize("http", [True, False])
async def test_grpc_is_served_again_after_a_reload(tmp_path: Path, http: bool) -> None:
    file, port = shop(tmp_path), free_port()
    arguments = (str(file), "--reload", "--grpc-port", str(port), *(() if http else ("--port", "off")))
    async with serving(*arguments, env=ON_UPSTREAM, cwd=tmp_path, wait=False, port=0 if http else None) as server:
        await server.said('"listening"')
        assert "second" not in await _listed(port)
        file.write_text(file.read_text() + "\n\n@function\ndef second(message: str) -> str:\n    return message\n")
        await server.said('"listening"')
        assert "second" in await _listed(port)
        assert await server.stopped() == 0
