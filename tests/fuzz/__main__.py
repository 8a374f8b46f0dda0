"""``make fuzz-readers``: each target for its part of the time, with atheris. Ends with 1 where one found something.

An input that raises, takes more than five seconds or more than a gigabyte is kept in a file, whose name is printed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.packages import PACKAGES, install
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
FOUND = Path(__file__).parent / "found"
LIMITS = ("-timeout=5", "-rss_limit_mb=1024", "-max_len=2048")
_LONGEST_WORD = 64  # libFuzzer's limit
_STATISTIC = re.compile(r"^stat::(\w+): +(\d+)", re.MULTILINE)
_NOISE = re.compile(r"^(?:INFO|WARNING|stat::).*\n", re.MULTILINE)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make fuzz-readers", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all, if none is named")
    parser.add_argument("--seconds", type=int, default=60, help="for all together")
    parser.add_argument(
        "--corpus", type=Path, help="a folder to go on from, and to keep the corpus in, at its smallest"
    )
    parser.add_argument("--found", type=Path, default=FOUND, help="where an input that breaks a reader is kept")
    asked = parser.parse_args(arguments)
    names: list[str] = asked.targets or list(TARGETS)
    if unknown := set(names) - set(TARGETS):
        parser.error(f"no target named {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    install()
    with ExitStack() as kept:
        corpus: Path = asked.corpus or Path(kept.enter_context(TemporaryDirectory()))
        failed = [
            name
            for name in names
            if not fuzz(name, max(1, asked.seconds // len(names)), corpus.resolve() / name, asked.found.resolve())
        ]
        if asked.corpus:
            for name in names:
                minimise(name, corpus.resolve() / name)
    print(f"{len(names) - len(failed)} passed, {len(failed)} failed", flush=True)
    return bool(failed)


def fuzz(name: str, seconds: int, corpus: Path, found: Path) -> bool:
    """Whether nothing was found. What it says of itself is shown only otherwise."""
    with TemporaryDirectory() as scratch:
        seeds, words = Path(scratch, "seeds"), Path(scratch, "words")
        for folder in (corpus, found, seeds):
            folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(TARGETS[name].seeds):
            (seeds / f"{number}").write_bytes(seed)
        words.write_text("".join(f'"{_escaped(word)}"\n' for word in TARGETS[name].words if len(word) <= _LONGEST_WORD))
        code, said = _campaign(
            *(name, str(corpus), str(seeds), f"-dict={words}", f"-max_total_time={seconds}", *LIMITS),
            *("-print_final_stats=1", "-verbosity=0", f"-artifact_prefix={found}/{name}-"),
        )
    statistics = dict(_STATISTIC.findall(said))
    kept = [file.stat().st_size for file in corpus.iterdir()]
    print(
        f"{name}: {statistics.get('number_of_executed_units', '?')} inputs in {seconds} s, "
        f"at most {statistics.get('peak_rss_mb', '?')} MB; the corpus: {len(kept)} inputs, {sum(kept)} bytes",
        flush=True,
    )
    if code:
        print(_NOISE.sub("", said), flush=True)
    return code == 0


def minimise(name: str, corpus: Path) -> None:
    """Leave the fewest inputs that reach all that these reach."""
    with TemporaryDirectory() as smaller:
        code, said = _campaign(name, "-merge=1", smaller, str(corpus), *LIMITS, "-verbosity=0")
        if code:
            raise RuntimeError(said)
        for old in corpus.iterdir():
            old.unlink()
        for new in Path(smaller).iterdir():
            shutil.copy(new, corpus)
    kept = [file.stat().st_size for file in corpus.iterdir()]
    print(f"{name}: minimised to {len(kept)} inputs, {sum(kept)} bytes", flush=True)


def _campaign(*arguments: str) -> tuple[int, str]:
    """Its exit code, and what it said."""
    path = os.pathsep.join((str(PACKAGES), str(ROOT)))
    command = [sys.executable, "-m", "tests.fuzz.campaign", *arguments]
    ended = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return ended.returncode, ended.stdout.decode(errors="replace")


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    sys.exit(main())
