"""``docs/clients.md``: its programs by the names of their files, and what a test changes in them."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "clients.md").read_text()

PROGRAMS: dict[str, str] = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
"""The code of each block that has a file's name."""

BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
"""Language and text of the others."""

_ADDRESS = re.compile(r'localhost(:|", )(?:8000|50051)')
_MESSAGES = re.compile("Say hello|I bought a red kettle and two lamps")
_TIMEOUT = re.compile(r'(\btimeout"?(?:: | => |=))60\b')


def program(name: str, port: int, message: str, timeout: float | None = None) -> str:
    """The program, with another port, another message to the model, and perhaps less time for the run. All else is as a
    reader sees it."""
    code = _replaced(_ADDRESS, rf"127.0.0.1\g<1>{port}", PROGRAMS[name])
    code = _replaced(_MESSAGES, message, code)
    return code if timeout is None else _replaced(_TIMEOUT, rf"\g<1>{timeout}", code)


def _replaced(pattern: re.Pattern[str], by: str, code: str) -> str:
    replaced, times = pattern.subn(by, code)
    assert times == 1, f"{pattern.pattern} is there {times} times:\n{code}"
    return replaced
