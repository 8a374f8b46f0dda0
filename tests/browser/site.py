"""The page with its clients: stubs made from ``proto/``, bundled into one script, served on an origin of its own."""

import functools
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

from typing_extensions import override

from tests.node import Node

_PAGE = Path(__file__).parent / "page"
_PROTO = Path(__file__).parents[2] / "proto"
_FILES = ("deltawire/v1/functions.proto", "google/rpc/status.proto", "google/rpc/error_details.proto")


async def bundle(node: Node, folder: Path) -> Path:
    """A folder to be served: the page and its one script."""
    source = folder / "source"
    shutil.copytree(_PAGE, source)
    node.link(source)
    _make_stubs(node, folder, source / "stubs")
    served = folder / "served"
    served.mkdir()
    shutil.copy(source / "index.html", served)
    flags = ["--bundle", "--format=esm", "--log-level=warning", f"--outfile={served / 'page.js'}"]
    await node.run(node.package("esbuild/bin/esbuild"), "page.js", *flags, folder=source)
    return served


def _make_stubs(node: Node, folder: Path, stubs: Path) -> None:
    """In JavaScript, with the official plugin for it."""
    plugin = folder / "protoc-gen-es"
    plugin.write_text(
        f'#!/bin/sh\nexec "{node.program}" "{node.package("@bufbuild/protoc-gen-es/bin/protoc-gen-es")}"\n'
    )
    plugin.chmod(0o755)
    google = find_spec("google.rpc")
    assert google is not None
    assert google.submodule_search_locations is not None
    others = Path(next(iter(google.submodule_search_locations))).parents[1]
    stubs.mkdir()
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{_PROTO}", f"-I{others}", f"--plugin={plugin}"]
    command += [f"--es_out={stubs}", "--es_opt=target=js,import_extension=js", *_FILES]
    subprocess.run(command, check=True)


class _Quiet(SimpleHTTPRequestHandler):
    @override
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def static_site(folder: Path) -> Generator[str]:
    """Serve the folder; the origin."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
