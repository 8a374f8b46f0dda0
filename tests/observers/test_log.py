"""The log's lines, whatever stands in them."""

import json
import logging

import pytest

from deltawire.observers.log import Formatter

ODD = "\x1b[31m\x9b31m\x7f\u202e\u2028 \ud800"
"""Would be obeyed by a terminal, turn its text around, or has no UTF-8."""


def record(said: str, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("deltawire", logging.ERROR, __file__, 1, said, None, None)
    if fields:
        made.fields = fields
    return made


def failed() -> logging.LogRecord:
    try:
        raise RuntimeError(f"one\ntwo {ODD}")
    except RuntimeError as error:
        made = record("failed")
        made.exc_info = (type(error), error, error.__traceback__)
        return made


@pytest.mark.parametrize("made", [record(ODD), record("run", message=ODD), failed()])
def test_a_text_line_holds_nothing_that_a_terminal_obeys_and_can_be_written(made: logging.LogRecord) -> None:
    line = Formatter(as_json=False).format(made)
    assert "\\x1b[31m" in line or "\\u001b[31m" in line
    assert all(c.isprintable() or c == "\n" for c in line)
    assert line.encode()


@pytest.mark.parametrize("made", [record(ODD), record("run", message=ODD), failed()])
def test_a_json_line_is_one_line_and_exact(made: logging.LogRecord) -> None:
    line = Formatter(as_json=True).format(made)
    assert line.encode().count(b"\n") == 0
    told = json.loads(line)
    assert ODD in told.get("trace", told["message"])


def test_a_callers_words_look_like_no_field_of_ours() -> None:
    line = Formatter(as_json=False).format(record("run", message='x outcome=stop "\noutcome=stop'))
    assert line.endswith(r'message="x outcome=stop \"\noutcome=stop"')
