"""What counts as the JSON in a model's answer, and what is refused rather than repaired."""

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltawire.engine.json_answer import json_text

# Strict JSON


@pytest.mark.parametrize(
    "answer",
    ['{"a":1}', "[]", "{}", "0", "-1.5e3", '"text"', "true", "null", '{"a": [1, {"b": null}]}', '"\\ud83d\\ude00"'],
)
def test_strict_json_is_taken_as_it_stands(answer: str) -> None:
    assert json_text(answer) == answer.encode()


def test_space_around_the_answer_is_dropped_and_space_inside_is_kept() -> None:
    assert json_text('\r\n  { "a" : [ 1 , 2 ] }\n\n') == b'{ "a" : [ 1 , 2 ] }'


def test_numbers_keep_every_digit() -> None:
    answer = '{"price": 0.10000000000000000000001, "id": 123456789012345678901234567890, "e": 1E+2}'
    assert json_text(answer) == answer.encode()
    assert json_text(f"Here you are: {answer}.") == answer.encode()


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "   ",
        "no JSON at all",
        "NaN",
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": 01}',
        '{"a": 1.}',
        "{'a': 1}",
        "{a: 1}",
        '{"a": 1} // done {',
        '{"a": /* one */ 1}',
        '{"a": "line\nbreak"}',
        '{"a": "nul\x00"}',
        '{"a": "\\ud800"}',
        '{"a": "\ud800"}',
        '{"a": True}',
        '{"a" 1}',
        '{"a": 1]',
        '["a": 1]',
    ],
)
def test_what_is_not_json_is_refused(answer: str) -> None:
    assert json_text(answer) is None


def test_nesting_beyond_the_recursion_limit_is_refused_without_an_exception() -> None:
    assert json_text("[" * 100_000 + "]" * 100_000) is None


# A fence, prose, trailing commas


@pytest.mark.parametrize("tag", ["", "json", "JSON", "json5", "{json}", " json title=x"])
@pytest.mark.parametrize("fence", ["```", "~~~", "`````"])
def test_a_fence_with_or_without_a_tag_is_taken_off(fence: str, tag: str) -> None:
    assert json_text(f'{fence}{tag}\n{{"a": 1}}\n{fence}') == b'{"a": 1}'


@pytest.mark.parametrize("scalar", ["42", '"text with ``` in it"', "null"])
def test_a_scalar_may_fill_a_fence(scalar: str) -> None:
    assert json_text(f"```json\r\n{scalar}\r\n```\n") == scalar.encode()


@pytest.mark.parametrize("answer", ["The answer is 42", "It is true.", "```json\n42", "Sure:\n```\n42\n```", '"a" "b"'])
def test_a_scalar_in_prose_is_not_picked(answer: str) -> None:
    assert json_text(answer) is None


def test_a_fence_without_a_tag_between_prose_is_taken_off() -> None:
    assert json_text('Sure, here it is:\n\n```\n{"a": 1}\n```\n\nAnything else?') == b'{"a": 1}'


def test_a_fence_that_was_never_closed_still_holds_a_whole_object() -> None:
    assert json_text('```json\n{"a": 1}') == b'{"a": 1}'


def test_a_byte_order_mark_is_prose() -> None:
    assert json_text('\ufeff{"a": 1}') == b'{"a": 1}'


def test_plain_words_in_brackets_are_prose() -> None:
    assert json_text('As [requested] for {name}: {"a": 1} [see the manual](page)') == b'{"a": 1}'


@pytest.mark.parametrize(
    "thoughts",
    [
        '<think>A draft: {"a": 2}, or [1</think>',
        "<THINK>\n</THINK>\n\n",
        "<reasoning>{</reasoning>",
        'A draft: {"a": 2}, or [one]\n</think>\n',
    ],
)
@pytest.mark.parametrize("answer", ['{"a": 1}', 'So: {"a": 1}', '```json\n{"a": 1}\n```'])
def test_thoughts_in_tags_are_not_read(thoughts: str, answer: str) -> None:
    assert json_text(thoughts + answer) == b'{"a": 1}'


@pytest.mark.parametrize(
    "answer",
    [
        '<think>{"a": 1}',
        '<think>{"a": 1}</think>',
        '<think>{"a": 1}</think> I cannot say.',
        '{"a": 1}</think> I cannot say.',
        'Here: {"a": ["</think>", {"b": 1}',
    ],
)
def test_a_draft_in_thoughts_and_a_part_of_data_that_names_their_tag_are_no_answer(answer: str) -> None:
    assert json_text(answer) is None


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ('{"a": [1, 2,], "b": 3,}', '{"a": [1, 2], "b": 3}'),
        ('[{"a": 1,\n},\n]', '[{"a": 1\n}\n]'),
        ('```json\n{"a": 1 ,\t}\n```', '{"a": 1 \t}'),
        ('Here: {"a": ",}", "b": "[1,]",}', '{"a": ",}", "b": "[1,]"}'),
    ],
)
def test_trailing_commas_are_dropped_and_those_in_strings_stay(answer: str, text: str) -> None:
    assert json_text(answer) == text.encode()


@pytest.mark.parametrize(
    "answer", ["[,]", "{,}", "[ \n, ]", "[1,,]", '{"a":,}', "[,1]", '{"a":1,,"b":2}', '{"a":[,],}']
)
def test_a_comma_that_follows_no_value_is_not_a_trailing_one(answer: str) -> None:
    assert json_text(answer) is None


# Never silently shortened


def test_so_01_d_a_quote_inside_a_string_is_refused() -> None:
    assert json_text('{"note":"said "stop", then left"}') is None


@pytest.mark.parametrize(
    "value",
    [
        '```json\n{"b": [1,]}\n```',
        "prose {with} [brackets] and a , } comma",
        "an unbalanced { and [ and ] and }",
        'said "stop", then left',
        "back\\slash at the end \\",
        "~~~\n}{][\n~~~",
        "say <think> and </think>, then {go} on",
    ],
)
def test_so_01_e_strings_that_look_like_json_or_markdown_come_out_unchanged(value: str) -> None:
    text = json.dumps({"note": value, "next": 1})
    for answer in (text, f"```json\n{text}\n```", f"Sure.\n```\n{text}\n```\nDone.", f"Here: {text}"):
        assert json_text(answer) == text.encode()


@pytest.mark.parametrize(
    "answer",
    [
        '{"title":"T1","rows":[1,2,3',
        '{"title":"T1","rows":[1,2,3]',
        '{"rows":[{"a":1},{"b":2}',
        '{"rows":[{"a":1},{"b":2}]',
        '{"a":"cut in the mid',
        '{"a":"cut after the escape\\',
        '{"a":{"b":1},',
        '```json\n{"rows":[{"a":1},\n```',
        'Here: [{"a":1}, {"b":2',
        "{",
        "[[1]",
    ],
)
def test_so_02_a_truncated_answer_is_never_closed_nor_mined_for_its_whole_parts(answer: str) -> None:
    assert json_text(answer) is None


@pytest.mark.parametrize(
    "answer",
    [
        '{rows: [1,2,3], total: {"a":1}}',
        "{'rows': [1,2,3]}",
        '{"a": "5" tall", "rows": [1,2]}',
        '{"a": 1}}',
        '{"a": 1}]',
        '] {"a": 1}',
        '{"a": 1} {',
        '{name: {"a": 1}',
        '"title": "T", "rows": [1,2,3]',
        '"n": 3, "outer": {"a": 1}',
        '"outer": {"a": 1}, "n": 3',
        '"outer" :\n {"a": 1}',
        '{"a": 1}\n, "n": 3',
    ],
)
def test_a_part_of_something_broken_is_not_taken_for_the_whole(answer: str) -> None:
    assert json_text(answer) is None


@pytest.mark.parametrize(
    "answer",
    [
        '{"a":1}{"a":2}',
        '{"a":1}\n{"a":2}\n',
        "[1], [2]",
        '```json\n{"a":1}\n```\nor\n```json\n{"a":2}\n```',
        'First {"a":1}, better ```\n{"a":2}\n```',
        'As in [1]: {"a":1}',
        'An empty {} and {"a":1}',
    ],
)
def test_more_than_one_candidate_is_ambiguous(answer: str) -> None:
    assert json_text(answer) is None


def test_two_equal_candidates_are_ambiguous_too() -> None:
    # as lines of a list they say "two lamps", and one of them says "one"
    assert json_text('{"item":"lamp"}\n{"item":"lamp"}') is None


# For whatever a model says

_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
_composite = _json.filter(lambda value: isinstance(value, dict | list))
_prose = st.text().map(lambda text: text.translate(dict.fromkeys(map(ord, '[]{}"'))))
_malice = st.lists(
    st.sampled_from(
        [
            "{",
            "}",
            "[",
            "]",
            '"',
            "\\",
            ",",
            ":",
            "```",
            "~~~",
            "\n",
            " ",
            "json",
            "1",
            "a",
            '{"a":1}',
            "[1,]",
            "\ud800",
            "NaN",
        ]
    ),
    max_size=30,
).map("".join)


@given(_json)
def test_any_value_alone_or_fenced_comes_out_equal(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert json_text(text) == text.encode()
    assert json_text(f"```json\n{text}\n```") == text.encode()


@given(_composite, _prose, _prose)
def test_any_object_or_array_in_prose_comes_out_equal(value: object, before: str, after: str) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert json_text(before + text + after) == text.encode()
    assert json_text(f"{before}\n```\n{text}\n```\n{after}") == text.encode()


@given(_composite, _prose)
def test_trailing_commas_in_any_value_change_nothing_else(value: object, prose: str) -> None:
    text = json.dumps(value, indent=1).replace("\n]", ",\n]")  # json.dumps writes no line break inside a string
    assert json_text(f"{prose}\n{text}") == json.dumps(value, indent=1).encode()


@given(_composite.filter(bool), st.data())
def test_no_cut_of_a_value_is_taken(value: object, data: st.DataObject) -> None:
    text = json.dumps(value)
    assert json_text(text[: data.draw(st.integers(0, len(text) - 1))]) is None


@given(st.text() | _malice)
def test_nothing_raises_and_nothing_is_added(answer: str) -> None:
    text = json_text(answer)
    if text is None:
        return
    msgspec.json.decode(text)
    assert text.decode().replace(",", "") in answer.replace(",", "")


@pytest.mark.parametrize(
    "unit",
    [
        "[",
        "{",
        "`",
        '"',
        "\\",
        '["',
        '{"a":',
        '{"',
        '\\"',
        "[a]",
        "[1 ",
        "] ",
        ",\n",
        "[,",
        "```\n",
        "~~~\n",
        "\n```",
        '":[1]',
        "</think>",
        "{}</think>",
    ],
)
def test_time_grows_with_the_answer_and_not_with_its_square(unit: str) -> None:
    answer = unit * (300_000 // len(unit))
    begun = time.process_time()
    for hostile in (answer, "[" + answer, 'x {"' + answer, "```\n" + answer):
        json_text(hostile)
    assert time.process_time() - begun < 10  # tenths of a second; a quadratic scan takes an hour
