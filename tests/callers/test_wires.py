"""What a wire needs is imported with it: gRPC and WebSockets take as long as all the rest."""

import subprocess
import sys


def test_wires_over_http_import_neither_grpc_nor_websockets() -> None:
    code = """
import sys
from deltawire.callers.deployment import Deployment
from deltawire.callers.wires import caller
caller("connect", Deployment("http://127.0.0.1", {}))
print(*sys.modules)
"""
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "deltawire.callers.http" in loaded
    assert not {"grpc", "websockets", "starlette", "uvicorn", "pydantic_settings"} & set(loaded)
