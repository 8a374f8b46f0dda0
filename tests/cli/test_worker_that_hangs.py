"""A worker that does nothing any more: it holds up nobody for ever, and the log says which one it was."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.cli.test_reload import alive
from tests.cli.test_workers import on_upstream
from tests.upstream import Gate

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="a port is shared so on Linux")]


async def test_one_that_does_not_end_is_killed_and_named(tmp_path: Path) -> None:
    async with on_upstream(tmp_path, Gate(), {"DELTAWIRE_DRAIN_TIMEOUT": "0.1"}) as found:
        hanging, other = found.pids
        os.kill(hanging, signal.SIGSTOP)
        found.server.process.send_signal(signal.SIGTERM)
        told = json.loads(await found.server.said("does not end"))
        assert told["message"] == f"worker {hanging} does not end: it is killed, with the calls that it has"
        async with asyncio.timeout(10):
            await found.server.process.communicate()
        assert found.server.process.returncode == 0
        assert not any(alive(pid) for pid in (hanging, other))
