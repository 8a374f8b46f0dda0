"""``python -m bench.peers``: install what the servers need that deltawire is measured beside. Exit code 1 says that an
environment could not be had; the others are there."""

import subprocess
import sys

from bench.peers.environments import LITELLM, USUAL


def main() -> int:
    failed = False
    for environment in (USUAL, LITELLM):
        try:
            environment.install()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{environment.name}: not installed: {error}", file=sys.stderr)
            failed = True
        else:
            print(f"{environment.name}: installed")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
