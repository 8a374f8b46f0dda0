"""The tests whose subject is a wait of a minute and more, in real time, beside the soak."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_LONGEST = 3600.0


@contextmanager
def in_real_time() -> Generator[Callable[[], bool]]:
    """Start them. The function waits for their end, shows what they said and tells whether all have passed."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "tests/field", "-q", "-m", "waits"],
            env={**os.environ, "DELTAWIRE_TEST_REAL_TIME": "1"},
            cwd=_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )

        def passed() -> bool:
            print("waiting for the tests that wait in real time ...", flush=True)
            code = process.wait(_LONGEST)
            said.seek(0)
            print(said.read().decode(errors="replace"), flush=True)
            return code == 0

        try:
            yield passed
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
