"""The text that every benchmarked stream carries, and how to tell that it came through exactly.

Each token holds one ``~``, which occurs nowhere else in any protocol around it: counting it in raw bytes counts tokens,
however a server cuts, merges or frames them. Each token also holds its number, so that none can be lost or swapped
unseen.
"""

import itertools

MARK = b"~"
MOST = 3000
"""Tokens of the longest stream: a minute of 50 a second."""

_WORDS = (" the", " quick", ",\n", " naïve", " fox", " 🙂", ' "so"', " of", " and", "\\n")


def token(number: int) -> str:
    return f"{_WORDS[number % len(_WORDS)]}~{number}"


_TEXT = "".join(map(token, range(MOST)))
_ENDS = (0, *itertools.accumulate(len(token(number)) for number in range(MOST)))


def count_exact(text: str) -> int | None:
    """How many tokens the text is made of; None when it is not the beginning of what was sent."""
    count = text.count("~")
    return count if count <= MOST and text == _TEXT[: _ENDS[count]] else None
