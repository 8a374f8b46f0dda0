"""A real nginx, one process of it, with what a test puts into its ``http`` block."""

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from tests.missing import leave_out

_CONFIGURATION = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_processes 1;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {configured}
}}
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def nginx(folder: Path, configured: Callable[[str], str], port: int | None = None) -> Generator[str]:
    """Its URL. ``configured`` makes what its ``http`` block holds from the address that it is to listen on. The test is
    left out where there is no nginx."""
    program = shutil.which("nginx") or leave_out("nginx", "the program 'nginx' is not installed")
    port = port or free_port()
    address = f"127.0.0.1:{port}"
    configuration = folder / "nginx.conf"
    configuration.write_text(_CONFIGURATION.format(folder=folder, configured=configured(address)))
    process = subprocess.Popen(
        [program, "-p", folder, "-c", configuration], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(port, process, folder / "error.log")
        yield f"http://{address}"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + 10
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError(f"nginx did not come up:\n{log.read_text() if log.exists() else ''}")
