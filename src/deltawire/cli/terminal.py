"""What a terminal may be shown: text whose control characters are made visible, and dim asides on stderr.

A model writes whatever it likes, and so does a provider's error: sent raw, it could move the cursor, rename the window
or hide what stands there.
"""

import sys
from typing import TextIO

PIPE_CLOSED = 128 + 13
"""The exit code when nobody reads any more: what a shell shows for a program that SIGPIPE ended."""

_VISIBLE = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},  # Unicode's control pictures
    0x7F: "\u2421",
    **dict.fromkeys(range(128, 160), "�"),
}


def visible(text: str) -> str:
    """The text with its C0 and C1 control characters replaced, but for line breaks and tabs."""
    return text.translate(_VISIBLE)


def one_line(text: str) -> str:
    """The same, on one line."""
    return visible(text.replace("\n", " "))


def complain(message: str) -> None:
    """An error, as one line on stderr."""
    print(f"deltawire: {one_line(message)}", file=sys.stderr)


class Asides:
    """What is said beside the answer. On a terminal it is dim."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._dim = ("\x1b[2m", "\x1b[0m") if shows_colour(stream) else ("", "")

    def write(self, text: str) -> None:
        before, after = self._dim
        self._stream.write(f"{before}{visible(text)}{after}")
        self._stream.flush()

    def line(self, text: str) -> None:
        before, after = self._dim
        self._stream.write(f"{before}{one_line(text)}{after}\n")
        self._stream.flush()


def shows_colour(stream: TextIO) -> bool:
    """Whether rich, which knows NO_COLOR, TERM=dumb and the Windows console, would colour this stream."""
    if not stream.isatty():
        return False
    from rich.console import Console

    console = Console(file=stream)
    return console.color_system is not None and not console.no_color
