"""From the words after a function's name to the JSON of its input."""

import datetime
import enum
import json
from decimal import Decimal
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from deltawire import DeclarationError, function
from deltawire.cli import flags
from deltawire.domain.function import Function


class Tone(enum.StrEnum):
    warm = "warm"
    one = "1"


class Point(BaseModel):
    x: int
    y: float = 0


# ruff: noqa: ARG001  (these functions are never called: it is their signatures that are tested)


@function
def everything(
    text: str,
    count: int = 1,
    ratio: Decimal | None = None,
    loud: bool = False,
    maybe: bool | None = None,
    day: datetime.date | None = None,
    tone: Tone | None = None,
    kind: Literal["a", "2"] = "a",
    note: Annotated[str, Field(description="50 % of it")] | None = None,
    max_items: int = 3,
    tags: list[str] = [],  # noqa: B006
    numbers: set[int] | None = None,
    point: Point | None = None,
    limits: dict[str, int] = {},  # noqa: B006
    no_limits: str = "",
    either: int | str = 0,
) -> str:
    """Everything that a flag can be."""
    return text


def read(*words: str, function: Function = everything) -> dict[str, object]:
    asked = flags.parse(function, words)
    return json.loads(flags.input_of(function, asked.given), parse_float=str)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["--text", "1"], {"text": "1"}),
        (["--text", '{"a": 1}'], {"text": '{"a": 1}'}),
        (["--text", "null"], {"text": "null"}),
        (["--text="], {"text": ""}),
        (["--count", "5"], {"count": 5}),
        (["--count", "-5"], {"count": -5}),
        (["--count", "five"], {"count": "five"}),
        (["--ratio", "1.00000000000000000000001"], {"ratio": "1.00000000000000000000001"}),
        (["--loud"], {"loud": True}),
        (["--no-loud"], {"loud": False}),
        (["--loud", "--no-loud"], {"loud": False}),
        (["--maybe"], {"maybe": True}),
        (["--day", "2026-01-02"], {"day": "2026-01-02"}),
        (["--tone", "1"], {"tone": "1"}),
        (["--kind", "2"], {"kind": "2"}),
        (["--note", "1"], {"note": "1"}),
        (["--max-items", "4"], {"max_items": 4}),
        (["--max_items", "4"], {"max_items": 4}),
        (["--tags", "a", "--tags", "[b"], {"tags": ["a", "[b"]}),
        (["--tags", '["a", "b"]'], {"tags": ["a", "b"]}),
        (["--tags", "[]"], {"tags": []}),
        (["--tags", "1"], {"tags": ["1"]}),
        (["--numbers", "1", "--numbers", "2"], {"numbers": [1, 2]}),
        (["--point", '{"x": 1}'], {"point": {"x": 1}}),
        (["--limits", '{"a": 1}'], {"limits": {"a": 1}}),
        (["--no-limits", "x"], {"no_limits": "x"}),
        (["--either", "1"], {"either": 1}),
        (["--either", "x"], {"either": "x"}),
        (["--text", "a", "--count", "1"], {"text": "a", "count": 1}),
        ([], {}),
    ],
)
def test_words_become_input(words: list[str], value: dict[str, object]) -> None:
    assert read(*words) == value


def test_what_is_read_is_what_the_function_gets() -> None:
    words = ["--text", "t", "--day", "2026-01-02", "--tone", "1", "--numbers", "[1, 2]", "--point", '{"x": 1}']
    bound = everything.bind(flags.input_of(everything, flags.parse(everything, words).given))
    assert bound["day"] == datetime.date(2026, 1, 2)
    assert bound["tone"] is Tone.one
    assert bound["numbers"] == {1, 2}
    assert bound["point"] == Point(x=1)


@pytest.mark.parametrize("words", [["a", "--loud"], ["--loud", "a"], ["--loud", "--", "a"]])
def test_the_bare_text_may_stand_anywhere(words: list[str]) -> None:
    asked = flags.parse(everything, words)
    assert (asked.text, asked.given) == ("a", {"loud": True})


@function
def own_names(model: str, json: str = "", app: str = "", help: bool = False) -> str:  # noqa: A002
    """Parameters that are called like flags of the command."""
    return model


def test_a_parameter_that_is_called_like_a_flag_of_the_command_has_none() -> None:
    asked = flags.parse(own_names, ["--model", "openai:m", "--json", '{"model": "x"}'])
    assert (asked.model, asked.json, asked.given) == ("openai:m", '{"model": "x"}', {})


def test_the_app_is_found_before_the_function_is_known() -> None:
    assert flags.named_app(["--tags", "x", "--app", "shop.py", "text"]) == "shop.py"
    assert flags.named_app(["--app=shop.py", "--unknown"]) == "shop.py"
    assert flags.named_app(["--", "--app", "shop.py"]) is None


@function
def two(first: int, second: int) -> str:
    return f"{first}{second}"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["x"], "unrecognized arguments: x; see deltawire run two --help"),
        (["--", "x"], "unrecognized arguments: x; see deltawire run two --help"),
        (["--fir", "1"], "unrecognized arguments: --fir 1; see deltawire run two --help"),
        (["--first", "1", "--json", "{}"], "--json is the whole input: leave the other parameters out"),
    ],
)
def test_what_does_not_fit_is_refused(words: list[str], complaint: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        flags.parse(two, words)
    assert str(refused.value) == complaint


def test_an_argument_that_is_no_utf_8_is_refused() -> None:
    with pytest.raises(DeclarationError, match="an argument is not UTF-8"):
        read("--text", "\udcff")
