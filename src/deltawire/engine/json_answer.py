"""The JSON that a model's answer holds.

In: the whole text of an answer. Out: its JSON text, or ``None``. Models wrap JSON in Markdown and in prose, and leave
commas before closing brackets: that much is forgiven, because nothing has to be guessed to undo it. Nothing else is
repaired: a bracket that somebody closes for the model, or a quote that somebody moves, is data silently lost.
"""

import re
from dataclasses import dataclass

import msgspec

_JSON_SPACE = r"[ \t\r\n]*+"
_BRACKET = re.compile(r"[\[\]{}]")
_TOKEN = re.compile(
    rf"""
      (?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")
    | (?P<open>[\[{{])(?P<hole>{_JSON_SPACE},)?   # a comma that follows no value does not trail one
    | (?P<close>[\]}}])
    | (?P<trailing>,(?={_JSON_SPACE}[\]}}]))
    | (?P<cut>")                                  # a quote that opens a string without an end
    """,
    re.VERBOSE | re.DOTALL,
)
_WORDS_IN_BRACKETS = re.compile(r"""\[[^\[\]{}"',:]*+\]|\{[^\[\]{}"',:]*+\}""")
_FENCED = re.compile(r"(?P<fence>`{3,}+|~{3,}+)[^\n`]*+\n(?P<inside>.*)\n[ \t]*(?P=fence)[`~]*", re.DOTALL)
_THOUGHTS = "(?:think|thinking|thought|reasoning)>"
_OPENS_THOUGHTS = re.compile("<" + _THOUGHTS, re.IGNORECASE)
_CLOSES_THOUGHTS = re.compile("</" + _THOUGHTS, re.IGNORECASE)
_QUOTED_KEY_BEFORE = re.compile(r'"[ \t\r\n]*:[ \t\r\n]*\Z')
_QUOTED_KEY_AFTER = re.compile(rf'{_JSON_SPACE},{_JSON_SPACE}"')
_NEAR = 64  # how far before a value a key's closing quote and colon can stand; bounds the search, not the answer


def json_text(answer: str) -> bytes | None:
    """The one JSON value (RFC 8259) in ``answer``, as its own bytes less trailing commas, or ``None``.

    A value of any kind may be the whole answer, or all that a Markdown fence around it holds. An object or array may
    also stand in prose. ``None`` as well for

    - a second object or array beside the first, even an equal one: two equal lines can be two lamps in a list of lamps;
    - a bracket in the prose that could belong to broken or truncated JSON: what lies inside would be a part of it.
      Plain words in brackets, as in ``[sic]``, are prose;
    - what a decoder cannot hold: lone surrogates, numbers beyond a double, nesting beyond the recursion limit.

    Thoughts in tags, as ``<think>…</think>``, are not read. Some servers send the closing tag alone.

    Takes time in proportion to the length of ``answer``.
    """
    whole = answer.strip()
    if (text := _value_alone(whole)) is not None:
        return text
    said = _without_thoughts(whole)
    if said is not whole and (text := _value_alone(said)) is not None:
        return text
    return _value_in_prose(said)


def _value_alone(whole: str) -> bytes | None:
    if (text := _strict(whole)) is not None:
        return text
    fenced = _FENCED.fullmatch(whole)
    return fenced and _strict(fenced["inside"].strip())


def _without_thoughts(whole: str) -> str:
    """What comes after thoughts in tags. A draft in them is not the answer, even where no other follows."""
    opened = _OPENS_THOUGHTS.match(whole)
    closed = _CLOSES_THOUGHTS.search(whole)
    if closed is None:
        return "" if opened else whole
    if opened is None and _may_be_data(whole, closed.start()):
        return whole
    return whole[closed.end() :].strip()


def _may_be_data(answer: str, place: int) -> bool:
    """Whether an object or array that begins before this place may go on behind it."""
    position = 0
    while bracket := _BRACKET.search(answer, position, place):
        if words := _WORDS_IN_BRACKETS.match(answer, bracket.start(), place):
            position = words.end()
            continue
        group = _group_at(answer, bracket.start())
        if group is None or group.end > place:
            return True
        position = group.end
    return False


def _strict(text: str) -> bytes | None:
    try:
        encoded = text.encode()
        msgspec.json.decode(encoded)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return encoded


def _value_in_prose(answer: str) -> bytes | None:
    found: bytes | None = None
    position = 0
    while bracket := _BRACKET.search(answer, position):
        start = bracket.start()
        group = _group_at(answer, start)
        if group and (text := _strict(group.text)) is not None:
            if found is not None or _is_a_part(answer, start, group.end):
                return None
            found, position = text, group.end
        elif words := _WORDS_IN_BRACKETS.match(answer, start):
            position = words.end()
        else:
            return None
    return found


@dataclass(frozen=True, slots=True)
class _Group:
    """From an opening bracket to the one that closes it: where it ends, and its text without trailing commas."""

    end: int
    text: str


def _group_at(answer: str, start: int) -> _Group | None:
    """``None`` where the bracket at ``start`` stays open. Whether the kinds of brackets match is not looked at here."""
    kept: list[str] = []
    copied, depth = start, 0
    for token in _TOKEN.finditer(answer, start):
        match token.lastgroup:
            case "open":
                depth += 1
            case "close":
                depth -= 1
                if depth == 0:
                    kept.append(answer[copied : token.end()])
                    return _Group(token.end(), "".join(kept))
            case "trailing":
                kept.append(answer[copied : token.start()])
                copied = token.end()
            case "hole" | "cut":
                return None
            case _:
                pass
    return None


def _is_a_part(answer: str, start: int, end: int) -> bool:
    """Whether the value is a member of an object whose own brackets were left out: the other members would be lost."""
    return bool(_QUOTED_KEY_BEFORE.search(answer, max(0, start - _NEAR), start) or _QUOTED_KEY_AFTER.match(answer, end))
