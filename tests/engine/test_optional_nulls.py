"""Which nulls of an answer mean "left out", and that nothing else is touched."""

import json
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from deltawire.engine.optional_nulls import without_optional_nulls


class Inner(BaseModel):
    size: int = 3
    name: str | None = "n"


class Outer(BaseModel):
    title: str
    note: str = "none"
    maybe: str | None = None
    inner: Inner = Inner()
    many: list[Inner] = []
    by_name: dict[str, Inner] = {}
    next: "Outer | None" = None


def _without(kind: Any, answer: str) -> str:
    return without_optional_nulls(answer.encode(), TypeAdapter(kind).json_schema()).decode()


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ('{"title":"t","note":null}', '{"title":"t"}'),
        ('{"title":"t","maybe":null}', '{"title":"t","maybe":null}'),
        ('{"title":null,"note":null}', '{"title":null}'),
        ('{"title":"t","inner":null,"many":null}', '{"title":"t"}'),
        ('{"title":"t","inner":{"size":null,"name":null}}', '{"title":"t","inner":{"name":null}}'),
        ('{"title":"t","many":[{"size":null},null,{"size":1}]}', '{"title":"t","many":[{},null,{"size":1}]}'),
        ('{"title":"t","by_name":{"a":{"size":null},"b":null}}', '{"title":"t","by_name":{"a":{},"b":null}}'),
        ('{"title":"t","next":{"title":"u","note":null}}', '{"title":"t","next":{"title":"u"}}'),
        ('{"title":"t","unknown":null,"note":null}', '{"title":"t","unknown":null}'),
        ('{"note":null}', "{}"),
        ("null", "null"),
        ("[null]", "[null]"),
    ],
)
def test_a_null_goes_only_where_the_property_is_optional_and_not_nullable(answer: str, left: str) -> None:
    assert _without(Outer, answer) == left


def test_an_answer_without_such_a_null_keeps_its_very_bytes() -> None:
    for answer in (b'{ "title" : "\\u0074" , "maybe" : null }', b'{"title":1E2}', b'{"title":"null"}'):
        assert without_optional_nulls(answer, Outer.model_json_schema()) is answer


def test_numbers_stay_exact() -> None:
    class Bill(BaseModel):
        note: str = ""
        amounts: list[Decimal]

    digits = "[1.10,0.1000000000000000000000000001,1E+2,123456789012345678901234567890,-0.0,1e-400]"
    assert _without(Bill, f'{{"note":null,"amounts":{digits}}}') == f'{{"amounts":{digits}}}'


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9
    age: int | None = None


class Dog(BaseModel):
    kind: Literal["dog"]
    lives: int | None = 1
    age: int = 2


class Ship(BaseModel):
    masts: int
    flag: str = "none"


@pytest.mark.parametrize("union", [Cat | Dog | Ship, Annotated[Cat | Dog, Field(discriminator="kind")]])
def test_a_tag_decides_between_the_members_of_a_union(union: Any) -> None:
    assert _without(union, '{"kind":"cat","lives":null,"age":null}') == '{"kind":"cat","age":null}'
    assert _without(union, '{"kind":"dog","lives":null,"age":null}') == '{"kind":"dog","lives":null}'


def test_names_decide_between_the_members_of_a_union() -> None:
    assert _without(Cat | Dog | Ship, '{"masts":2,"flag":null}') == '{"masts":2}'


def test_a_null_stays_where_one_fitting_member_of_a_union_takes_it() -> None:
    class Strict(BaseModel):
        size: int = 1
        both: int = 2

    class Lenient(BaseModel):
        size: int | None = None
        both: int = 3

    assert _without(Strict | Lenient, '{"size":null,"both":null}') == '{"size":null}'


def test_a_deeply_nested_answer_raises_nothing() -> None:
    depth = 300
    answer = '{"title":"t","note":null,"next":' * depth + '{"title":"u"}' + "}" * depth
    assert _without(Outer, answer) == '{"title":"t","next":' * depth + '{"title":"u"}' + "}" * depth


def test_a_schema_that_only_refers_to_itself_raises_nothing() -> None:
    loop = {"$ref": "#/$defs/Loop", "$defs": {"Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}]}}}
    assert without_optional_nulls(b'{"a":null}', loop) == b'{"a":null}'


_inner = st.fixed_dictionaries({}, optional={"size": st.integers(), "name": st.none() | st.text()})
_outer = st.fixed_dictionaries(
    {"title": st.text()},
    optional={"note": st.text(), "maybe": st.none() | st.text(), "inner": _inner, "many": st.lists(_inner, max_size=3)},
)


@given(_outer)
def test_properties_that_were_left_out_come_back_with_their_defaults(said: dict[str, Any]) -> None:
    def filled(part: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
        return dict.fromkeys(names) | part

    answer = filled(said, ("note", "inner", "many"))
    answer["inner"] = answer["inner"] if answer["inner"] is None else filled(answer["inner"], ("size",))
    answer["many"] = answer["many"] if answer["many"] is None else [filled(one, ("size",)) for one in answer["many"]]
    text = without_optional_nulls(json.dumps(answer).encode(), Outer.model_json_schema())
    assert Outer.model_validate_json(text) == Outer.model_validate(said)
