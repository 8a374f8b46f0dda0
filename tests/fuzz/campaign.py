"""One target under atheris: ``python -m tests.fuzz.campaign TARGET FOLDER [libFuzzer's flags]``. Never returns.

What the code does with an input is seen in every module of deltawire, for they are all imported here first.
"""

import shlex
import sys
from importlib import import_module

atheris = import_module("atheris")  # has a folder of its own, see packages.py

with atheris.instrument_imports(include=["deltawire"]):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    name, *flags = sys.argv[1:]
    # libFuzzer starts itself again to merge: this is how.
    itself = shlex.join([sys.executable, "-m", "tests.fuzz.campaign", name])
    atheris.Setup([itself, *flags], TARGETS[name].check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
