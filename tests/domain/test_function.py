"""What declares a function, what refuses to, and how a caller's JSON becomes its arguments."""

# ruff: noqa: ARG001  (functions that are only declared use none of their parameters)

import functools
import inspect
import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from deltawire import DeclarationError, Message, Prompt, Reason, RunError, Timeouts, function
from deltawire.domain.function import Function, FunctionSettings
from tests.domain.declared_types import Colour, Item

# Declaring


@function
def plain(text: str) -> str:
    """Say it again.

    And again.
    """
    return text


@function(output=Item, model="openai:m", temperature=0, max_tokens=5, name="renamed")
async def configured(item: Item) -> Prompt:
    return Prompt(user=item.name)


def test_a_function_is_described_by_its_code() -> None:
    assert (plain.name, plain.description, plain.text_input) == ("plain", "Say it again.\n\nAnd again.", "text")
    assert (plain.is_async, plain.inline, plain.output.is_text) == (False, False, True)
    assert plain.file == __file__
    assert plain.where.startswith(f"{__file__}:")
    assert plain.settings == FunctionSettings()


def test_the_decorator_sets_what_it_says_and_nothing_else() -> None:
    assert (configured.name, configured.is_async, configured.description) == ("renamed", True, "")
    assert configured.settings.model_dump(exclude_unset=True) == {
        "model": "openai:m",
        "temperature": 0,
        "max_tokens": 5,
    }


def test_calling_a_function_calls_its_code() -> None:
    assert plain("Hi") == "Hi"
    assert plain(text="Hi") == "Hi"


def test_other_decorators_in_between_do_not_hide_where_it_was_written() -> None:
    def loud(code: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(code)
        def wrapped(**arguments: Any) -> str:
            return code(**arguments).upper()

        return wrapped

    def quiet(text: str, times: int = 2) -> str:
        return text * times

    declared = function(loud(quiet))
    assert declared.line == inspect.getsourcelines(quiet)[1]
    assert declared(**declared.bind(b'"ab"')) == "ABAB"


def test_two_functions_of_one_name_in_a_module_are_noticed() -> None:
    source = """
from deltawire import function
@function
def twice(a: int) -> str: return ""
first = twice
@function
def twice(a: str) -> str: return ""
@function
def once(a: str) -> str: return ""
"""
    module: dict[str, Any] = {}
    exec(compile(source, "shop.py", "exec"), module)
    assert module["twice"].shadows is module["first"]
    assert (module["first"].shadows, module["once"].shadows) == (None, None)
    assert (module["first"].where, module["twice"].where) == ("shop.py:3", "shop.py:6")


def test_a_function_imported_under_the_same_name_is_no_mistake() -> None:
    module: dict[str, Any] = {"plain": plain}
    exec(compile("from deltawire import function\n@function\ndef plain(a: int): pass", "shop.py", "exec"), module)
    assert module["plain"].shadows is None


# Declarations that cannot work


_SHOP = """
import json
from collections.abc import Callable
from typing import Annotated, ClassVar
from pydantic import Field
from deltawire import function
class Unreadable: pass

@function
"""


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def f(*texts: str): ...", "parameter '*texts: str' has no schema: name each parameter, or take a list"),
        ("def f(**texts: str): ...", "parameter '**texts: str' has no schema: name each parameter, or take a list"),
        ("def f(text): ...", "parameter 'text' has no type: write text: str"),
        ("def f(text: str, /): ...", "parameter 'text' is positional-only: remove the '/'"),
        ("def f(_text: str): ...", "parameter '_text' begins with an underscore: rename it"),
        ("def f(text: str, item: Unreadable): ...", "parameter 'item' cannot be read from JSON: Unable to generate"),
        (
            "def f(call: Callable[[], int]): ...",
            "parameter 'call' cannot be read from JSON: Cannot generate a JsonSchema",
        ),
        ("def f(item: ClassVar[int]): ...", "parameter 'item' cannot have this name or type: change it"),
        ("def f(model_config: str): ...", "parameter 'model_config' cannot have this name or type: change it"),
        ("def f(a: Annotated[str, Field(pattern='(')]): ...", "'a' cannot be read from JSON: error: unclosed group"),
        (
            "def f(a: 'Nowhere'): ...",
            "name 'Nowhere' is not defined: the name is not known at the function's module level",
        ),
        ("def f(a: 'json.Nowhere'): ...", "module 'json' has no attribute 'Nowhere'"),
        ("def f(a: 'list['): ...", "a parameter's type is no Python"),
        ("def f(text: str): yield text", "yields: return a Prompt instead"),
        ("async def f(text: str): yield text", "yields: return a Prompt instead"),
    ],
)
def test_a_declaration_that_cannot_work_fails_with_file_line_and_the_way_out(code: str, why: str) -> None:
    line = _SHOP.count("\n")
    with pytest.raises(DeclarationError) as caught:
        exec(compile(_SHOP + code, "shop.py", "exec"), {"__name__": "shop"})
    assert str(caught.value).startswith(f"shop.py:{line}: function 'f'")
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"temperature": 3}, "@function.temperature: Input should be less than or equal to 2"),
        ({"max_tokens": 0}, "@function.max_tokens: Input should be greater than 0"),
        ({"model": 5}, "@function.model: Input should be a valid string"),
        ({"name": "two words"}, "a function's name is a Python identifier, and 'two words' is none"),
    ],
)
def test_a_setting_that_cannot_be_fails_at_the_declaration(given: dict[str, Any], why: str) -> None:
    def asked(text: str) -> str:
        return text

    with pytest.raises(DeclarationError, match=f"{__file__}:.*{why}"):
        function(**given)(asked)


@pytest.mark.parametrize("wrong", [Item, 5, plain, functools.partial(print)])
def test_only_a_function_can_be_declared(wrong: Any) -> None:
    with pytest.raises(DeclarationError, match=r"takes a function, .*: put it above a def or async def"):
        function(wrong)


# Binding


@function
def everything(
    text: str,
    count: int = 3,
    items: list[Item] = [],  # noqa: B006
    colour: Colour = Colour.red,
    on: date | None = None,
    history: list[Message] = [],  # noqa: B006
    by_name: dict[str, Item] = {},  # noqa: B006
    size: Annotated[int, Field(ge=1, le=3)] = 1,
) -> str:
    return text


def _bind(declared: Function, value: object) -> dict[str, object]:
    return declared.bind(json.dumps(value).encode())


def test_an_object_binds_by_name_and_the_rest_has_its_defaults() -> None:
    said = {"text": "t", "items": [{"name": "lamp"}], "on": "2026-02-03", "by_name": {"a": {"name": "b", "price": "2"}}}
    assert _bind(everything, said) == {
        "text": "t",
        "count": 3,
        "items": [Item(name="lamp")],
        "colour": Colour.red,
        "on": date(2026, 2, 3),
        "history": [],
        "by_name": {"a": Item(name="b", price=Decimal(2))},
        "size": 1,
    }


def test_arguments_are_the_values_of_the_declared_types() -> None:
    bound = _bind(everything, {"text": "t", "history": [{"role": "user", "content": "Hi"}], "colour": "blue"})
    assert (bound["history"], bound["colour"]) == ([Message(role="user", content="Hi")], Colour.blue)
    assert isinstance(bound["colour"], Colour)


def test_each_call_gets_a_default_list_of_its_own() -> None:
    first, second = _bind(everything, "a"), _bind(everything, "b")
    assert first["items"] is not second["items"]


@pytest.mark.parametrize("text", ["", "Hi", '{"text": "not JSON"}', "[1]", "null", '"quoted"', "a\nb\u2028\x00🙂", "7"])
def test_a_bare_string_binds_as_it_stands_and_is_never_read_as_json(text: str) -> None:
    assert _bind(everything, text)["text"] == text


def test_a_bare_string_binds_to_the_name_that_callers_use() -> None:
    @function
    def aliased(text: Annotated[str, Field(alias="class")]) -> str:
        return text

    assert _bind(aliased, "a") == _bind(aliased, {"class": "a"}) == {"text": "a"}


def _two(a: str, b: str) -> None: ...
def _none() -> None: ...
def _number(a: int) -> None: ...
def _defaults(a: str = "x") -> None: ...
def _choice(a: Literal["x"]) -> None: ...


@pytest.mark.parametrize("code", [_two, _none, _number, _defaults, _choice])
def test_a_bare_string_binds_only_to_one_required_str(code: Callable[..., object]) -> None:
    with pytest.raises(RunError, match="a bare string binds only where exactly one parameter is required and is a str"):
        _bind(function(code), "text")


@pytest.mark.parametrize("raw", [b"null", b"[]", b"5", b"true", b"", b"  ", b"\xff"])
def test_anything_but_an_object_or_a_string_is_refused(raw: bytes) -> None:
    with pytest.raises(RunError, match="input: must be an object with the fields of 'plain': text") as caught:
        plain.bind(raw)
    assert caught.value.reason is Reason.invalid_input


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "input.text: Field required"),
        ({"text": 5}, "input.text: Input should be a valid string"),
        ({"text": "t", "extra": 1}, "input.extra: Extra inputs are not permitted"),
        ({"text": "t", "size": 9}, "input.size: Input should be less than or equal to 3"),
        ({"text": "t", "colour": "green"}, "input.colour: Input should be 'red' or 'blue'"),
        ({"text": "t", "items": [{"name": "a"}, {}]}, "input.items.1.name: Field required"),
        ({"text": "t", "history": [{"role": "boss", "content": ""}]}, "input.history.0.role: Input should be"),
        ({"text": "t", "history": [{"role": "user", "content": "", "x": 1}]}, "input.history.0.x: Extra inputs"),
    ],
)
def test_a_wrong_field_is_named_with_the_reason(value: object, message: str) -> None:
    with pytest.raises(RunError) as caught:
        _bind(everything, value)
    assert caught.value.reason is Reason.invalid_input
    assert caught.value.message.startswith(message)


def test_at_most_five_wrong_fields_are_told_and_no_value_is_echoed() -> None:
    with pytest.raises(RunError) as caught:
        _bind(everything, {"text": "t", "items": [{"name": 1, "price": "s3cret"}] * 4})
    assert caught.value.message.count("; ") == 5
    assert caught.value.message.endswith("and 3 more")
    assert "s3cret" not in caught.value.message


def test_integers_and_decimals_in_strings_are_exact_and_what_no_number_holds_is_refused() -> None:
    @function
    def pay(amount: Decimal, account: int) -> str:
        return f"{amount} {account}"

    bound = pay.bind(b'{"amount":"0.10000000000000000001","account":123456789012345678901234567890}')
    assert bound == {"amount": Decimal("0.10000000000000000001"), "account": 123456789012345678901234567890}
    with pytest.raises(RunError):
        pay.bind(b'{"amount":1,"account":1e999}')


@pytest.mark.parametrize("raw", [b'{"text": "\\ud800"}', b'"\\ud800"', b'{"text": "\xff"}', b'{"text": "a"', b'"a'])
def test_broken_json_is_refused_without_a_traceback(raw: bytes) -> None:
    with pytest.raises(RunError):
        plain.bind(raw)


def test_parameters_may_be_named_like_the_methods_of_a_model() -> None:
    @function
    def named(
        json: str,
        schema: int = 1,
        copy: bool = False,
        dict: int = 2,  # noqa: A002  (the point of the test)
        model_fields: str = "f",
        model_validate_json: str = "v",
        model_post_init: str = "p",
        self: int = 3,
    ) -> str:
        return json

    said: dict[str, object] = {"json": "j", "schema": 5, "model_fields": "m", "self": 4}
    left: dict[str, object] = {"copy": False, "dict": 2, "model_validate_json": "v", "model_post_init": "p"}
    assert _bind(named, said) == said | left
    assert _bind(named, "j")["json"] == "j"
    properties: Any = named.input_schema()["properties"]
    assert list(properties) == [*inspect.signature(named.code).parameters]


# Settings


def test_what_a_later_source_says_wins_and_what_it_does_not_say_stays() -> None:
    declared = FunctionSettings(model="a:b", temperature=0.5, timeouts=Timeouts(idle=3, total=9))
    file = FunctionSettings(temperature=0, timeouts=Timeouts(idle=5))
    environment = FunctionSettings(model=None, timeouts=Timeouts(connect=1))
    assert declared.overridden_by(file).overridden_by(environment) == FunctionSettings(
        model=None, temperature=0, timeouts=Timeouts(idle=5, total=9, connect=1)
    )
    assert declared.overridden_by(FunctionSettings()) == declared


def test_a_function_keeps_all_but_its_settings_when_they_change() -> None:
    changed = plain.with_settings(FunctionSettings(model="x:y"))
    assert (changed.name, changed.code, changed.settings.model) == (plain.name, plain.code, "x:y")
    assert plain.settings.model is None


def test_a_default_that_no_schema_can_carry_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"test_function\.py:\d+: function 'pointing': parameter 'at'"):

        @function
        def pointing(at: dict[str, str] = {"$ref": "#/nowhere"}) -> str:  # noqa: B006  (never changed)
            return str(at)
