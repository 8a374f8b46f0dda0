"""Any text to ``json_text``: one JSON value of the answer's own characters, or nothing."""

import msgspec

from deltawire.engine.json_answer import json_text
from tests.fuzz.target import Target


def check(given: bytes) -> None:
    try:
        answer = given.decode(errors="surrogatepass")
    except UnicodeDecodeError:
        answer = given.decode(errors="replace")
    found = json_text(answer)
    if found is None:
        return
    msgspec.json.decode(found)
    text = found.decode()
    assert text.replace(",", "") in answer.replace(",", ""), (answer, text)
    assert json_text(text) == found
    assert json_text(f"```json\n{text}\n```") == found


TARGET = Target(
    check,
    (
        b'{"a": 1}',
        b'Sure! {"items": ["a", "b",],}',
        b'```json\n[1, {"b": null}]\n```',
        b'<think>{"a": 1}</think>\n{"a": 2}',
        b'As [sic] it says: {"a": "}"} and {"b"',
    ),
    (b"```json\n", b"\n```", b"~~~", b"<think>", b"</think>", b"<reasoning>", b'{"', b'": ', b",]", b",}", b'\\"'),
)
