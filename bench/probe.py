"""``python -m bench.probe PORT SECONDS``: asks a server for ``/healthz``, as an orchestrator does, and tells how long
the answers took.

A process of its own, with a new connection for each question. The questions come at their times whether the ones before
are answered or not: a server that stands still for a second is late for all that were asked meanwhile.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Self

_PERIOD = 0.025
_PATIENCE = 10.0
_REQUEST = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Latency:
    """In seconds, over so many answers; ``failed`` questions got none, or another than 200."""

    answers: int
    failed: int
    p50: float
    p99: float
    longest: float

    @classmethod
    def of(cls, taken: Sequence[float | None]) -> Self:
        """``None`` stands for a question that failed."""
        good = sorted(each for each in taken if each is not None) or [float("inf")]
        p50, p99 = good[(len(good) - 1) // 2], good[(len(good) - 1) * 99 // 100]
        return cls(len(good), len(taken) - len(good), p50, p99, good[-1])

    def __str__(self) -> str:
        said = f"{self.p50 * 1000:.1f} / {self.p99 * 1000:.1f} / {self.longest * 1000:.0f} ms"
        return f"{said}, {self.failed} failed" if self.failed else said


async def probe(port: int, seconds: float) -> Latency:
    """Ask for so long, from a process beside this one."""
    asking = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.probe", str(port), str(seconds), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await asking.communicate()
    if asking.returncode:
        raise OSError("the probe failed")
    return Latency(**json.loads(said))


async def _ask(port: int) -> float | None:
    begun = time.monotonic()
    try:
        async with asyncio.timeout(_PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(_REQUEST)
            answer = await reader.read()
            writer.close()
    except OSError:
        return None
    return time.monotonic() - begun if answer.startswith(b"HTTP/1.1 200 ") else None


async def _asked(port: int, seconds: float) -> Latency:
    begun = time.monotonic()
    asking: list[asyncio.Task[float | None]] = []
    while (due := begun + len(asking) * _PERIOD) < begun + seconds:
        await asyncio.sleep(due - time.monotonic())
        asking.append(asyncio.create_task(_ask(port)))
    return Latency.of([await each for each in asking])


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(_asked(int(sys.argv[1]), float(sys.argv[2]))))))
