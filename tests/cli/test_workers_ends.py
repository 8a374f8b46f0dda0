"""A worker that does not end in order when the server does: it holds up nobody for ever, and the log says which it
was."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.cli.test_reload import alive
from tests.cli.test_workers import ended, ends, on_upstream
from tests.upstream import Gate

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="a port is shared so on Linux")]


async def test_one_that_does_not_end_is_killed_and_named(tmp_path: Path) -> None:
    async with on_upstream(tmp_path, Gate(), {"DELTAWIRE_DRAIN_TIMEOUT": "0.1"}) as found:
        hanging, other = found.pids
        os.kill(hanging, signal.SIGSTOP)
        found.server.process.send_signal(signal.SIGTERM)
        told = json.loads(await found.server.said("does not end"))
        assert told["message"] == f"worker {hanging} does not end: it is killed, with the calls that it has"
        assert await ended(found.server, within=10) == 0
        assert not any(alive(pid) for pid in (hanging, other))


async def test_one_that_dies_while_its_calls_are_played_to_their_end_is_named(tmp_path: Path) -> None:
    gate = Gate()
    async with on_upstream(tmp_path, gate) as found:
        dying, other = held = await found.held()
        found.server.process.send_signal(signal.SIGTERM)
        for _ in held:
            await found.server.said("stopping: calls under way")
        os.kill(dying, signal.SIGKILL)
        assert set(await ends(held[dying])) == {"broken"}
        gate.open()
        assert set(await ends(held[other])) == {"finished"}
        told = json.loads(await found.server.said("before its calls did"))
        assert told["message"] == f"worker {dying} ended before its calls did (killed by SIGKILL)"
        assert await ended(found.server, within=10) == 0
