"""A reader of server-sent events that knows the standard (HTML, §9.2.6) and nothing of deltawire."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Event:
    type: str
    data: str


def events(stream: str) -> Iterator[Event]:
    """What a browser would dispatch. A part of an event at the end is dropped."""
    type_, lines = "", list[str]()
    for line in _LINE_END.split(stream)[:-1]:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if lines:
                yield Event(type_ or "message", "\n".join(lines))
            type_, lines = "", []
        elif field == "event":
            type_ = value
        elif field == "data":
            lines.append(value)


def answer(stream: str) -> str:
    """What a reader of all data makes of it: the data of the events without a name."""
    return "".join(event.data for event in events(stream) if event.type == "message")
