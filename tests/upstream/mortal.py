"""``python -m tests.upstream.mortal PORT COUNT``: an upstream as a process of its own, to be killed in mid-sentence.

A line on its stdout says that it listens, and another that the beginnings of all answers that it breaks off are out.
"""

import asyncio
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.upstream.openai import answer, text
from tests.upstream.script import Gate, head
from tests.upstream.server import Upstream

_ROOT = Path(__file__).parents[2]


class Mortal:
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    async def told(self) -> None:
        """Return when it says the next line."""
        assert self._process.stdout is not None
        line = await asyncio.to_thread(self._process.stdout.readline)
        assert line == b"so\n", "the upstream has ended"

    def kill(self) -> None:
        """As ``kill -9`` does."""
        self._process.kill()


@contextmanager
def mortal(port: int, breaks_off: int = 0) -> Generator[Mortal]:
    """An upstream on that port, which breaks off so many answers, all at once, and gives others whole."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.upstream.mortal", str(port), str(breaks_off)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=_ROOT,
    )
    try:
        yield Mortal(process)
    finally:
        process.kill()
        process.communicate()


def _say_so() -> None:
    sys.stdout.write("so\n")
    sys.stdout.flush()


async def _live(port: int, breaks_off: int) -> None:
    gate = Gate()
    async with Upstream(port) as upstream:
        upstream.always(answer("whole"))
        for _ in range(breaks_off):
            upstream.script(head(), text("Hel"), gate.wait())
        _say_so()
        if breaks_off:
            await gate.reached(breaks_off)
            _say_so()
        await asyncio.to_thread(sys.stdin.buffer.read)  # until whoever started us is gone


if __name__ == "__main__":
    asyncio.run(_live(int(sys.argv[1]), int(sys.argv[2])))
