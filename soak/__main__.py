"""``python -m soak``: faults of every kind on every wire for so many minutes. Exit code 1 on any breach."""

import argparse
import asyncio
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import uvloop
from tests.matrix.server import serving
from tests.upstream import never_accepting_port, refused_port

from soak.provider import Provider
from soak.report import breaches, report
from soak.runner import Soak
from soak.waits import in_real_time

_APP = Path(__file__).with_name("app.py")
_FEWEST_ROUNDS = 2
_SETTINGS = {
    "DELTAWIRE_MODEL": "openai:m",
    "DELTAWIRE_ARTICLE_FUNCTION": "say",
    "OPENAI_API_KEY": "the-provider-key",
    "DELTAWIRE_PROVIDERS__OPENAI__MAX_EVENT_BYTES": "1000000",
    # Models that mostly answer must not be taken for ill ones; what fails always has a model of its own.
    "DELTAWIRE_BREAKER__FAILURES": "25",
    "DELTAWIRE_BREAKER__PAUSE": "0.5",
    "DELTAWIRE_HTTP__STATUS_HOLD": "0.3",
    "DELTAWIRE_HTTP__HEARTBEAT": "0.2",
    "DELTAWIRE_HTTP__BODY_TIMEOUT": "2",
    "DELTAWIRE_HTTP__WRITE_TIMEOUT": "3",
    "DELTAWIRE_GRPC__STATUS_HOLD": "0.3",
    "DELTAWIRE_GRPC__WRITE_TIMEOUT": "3",
}


def main() -> int:
    options = _options()
    print(f"seed {options.seed}, {options.callers} callers, {options.seconds:g} seconds", flush=True)
    with in_real_time() if options.waits else contextlib.nullcontext(lambda: True) as passed:
        failed = uvloop.run(_soak(options))
        return int(failed or not passed())


def _options() -> argparse.Namespace:
    short = os.environ.get("SHORT", "") not in ("", "0")
    parser = argparse.ArgumentParser(prog="python -m soak", description="Faults of every kind on every wire.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument(
        "--seconds", type=float, default=18.0 if short else None, help="instead of minutes, and no waits in real time"
    )
    parser.add_argument("--callers", type=int, default=64, help="how many runs at once")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    options.waits = options.seconds is None
    options.seconds = options.minutes * 60 if options.seconds is None else options.seconds
    return options


async def _soak(options: argparse.Namespace) -> bool:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    loop.add_signal_handler(signal.SIGTERM, task.cancel)  # so that the server ends with us
    loop.set_default_executor(ThreadPoolExecutor(options.callers + 8))
    with contextlib.ExitStack() as ending:
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="deltawire-soak-")))
        refused, deaf = ending.enter_context(refused_port()), ending.enter_context(never_accepting_port())
        async with Provider() as provider:
            places = {
                "OPENAI_BASE_URL": provider.base_url,
                "DELTAWIRE_PROVIDERS__REFUSED__BASE_URL": f"http://127.0.0.1:{refused}/v1",
                "DELTAWIRE_PROVIDERS__DEAF__BASE_URL": f"http://127.0.0.1:{deaf}/v1",
            }
            with serving(folder, {**_SETTINGS, **places}, _APP) as server:
                soak = Soak(server, provider, options.seed, options.callers)
                end = time.monotonic() + options.seconds
                await soak.play(lambda rounds: rounds < _FEWEST_ROUNDS or time.monotonic() < end)
                await soak.stop()
    print(report(soak))
    wrong = breaches(soak, grown_up=options.seconds >= 300)
    print("\n".join([*wrong, "the soak FAILED" if wrong else "the soak passed"]))
    return bool(wrong)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(main())
    sys.exit(130)
