"""What is shown of a function: a call that can be pasted, a signature that can be read, text that does no harm."""

import json
import shlex
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from deltawire import function
from deltawire.cli.banner import address_of, call
from deltawire.cli.signature import signature
from deltawire.cli.terminal import one_line, visible
from deltawire.settings import Settings

# ruff: noqa: ARG001  (these functions are never called: it is their signatures that are tested)


class Node(BaseModel):
    name: str
    child: "Node | None"


class Form(BaseModel):
    kind: Literal["it's"]
    count: Annotated[int, Field(ge=1)]
    tags: list[str]
    loud: bool = False


@function
def nested(form: Form, node: Node, history: list[Form] = [], note: str | None = None) -> str:  # noqa: B006
    return ""


def test_the_call_survives_a_shell_and_has_the_shape_of_the_input() -> None:
    words = shlex.split(call(nested, "http://127.0.0.1:8000"))
    assert words[:3] == ["curl", "-N", "http://127.0.0.1:8000/v1/functions/nested"]
    sample = json.loads(words[-1])["input"]
    assert sample["form"] == {"kind": "it's", "count": 1, "tags": []}
    assert sample["node"]["name"] == "Say hello"
    assert sample.keys() == {"form", "node"}


def test_a_signature_names_types_without_their_modules() -> None:
    assert signature(nested) == "(form: Form, node: Node, history: list[Form] = [], note: str | None = None)"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("fd00::1", "http://[fd00::1]:8000"),
        ("shop.example", "http://shop.example:8000"),
    ],
)
def test_the_address_is_one_that_can_be_called(host: str, address: str) -> None:
    assert address_of(Settings.model_construct(host=host, port=8000)) == address


def test_control_characters_become_visible_and_nothing_else_changes() -> None:
    assert visible("a\tb\n\x00\x1b[2J\r\x7f\x85\x9b🙂\u2028") == "a\tb\n\u2400\u241b[2J\u240d\u2421\ufffd\ufffd🙂\u2028"
    assert one_line("a\nb\x07") == "a b\u2407"
