"""What a function returns: the messages that a model is asked with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict

Role = Literal["system", "user", "assistant"]


class Message(BaseModel):
    """One message of a conversation."""  # callers read this too, in the schema of ``history: list[Message]``

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The usual shape of a question: instructions, an earlier conversation, and what the user says now.

    A part that is left out sends no message. The order on the wire is ``system``, ``messages``, ``user``.
    """

    system: str | None = None
    messages: Sequence[Message] = ()
    user: str | None = None


Rendered = Prompt | str | Sequence[Message]
"""What a function may return: a prompt, the user's words alone, or the messages as they stand."""


def messages_of(rendered: object) -> tuple[Message, ...]:
    """The messages that a function's return value stands for.

    Takes any object, because it comes from code that nobody type-checked for us. Raises ``TypeError`` for anything that
    is not ``Rendered``, and ``ValueError`` where there is no message at all.
    """
    match rendered:
        case str():
            messages = [Message(role="user", content=rendered)]
        case Prompt():
            messages = [
                *_said("system", rendered.system),
                *_all_messages(rendered.messages),
                *_said("user", rendered.user),
            ]
        case list() | tuple():
            messages = _all_messages(cast("Sequence[object]", rendered))
        case _:
            raise TypeError(f"a function returns a Prompt, a str or a list of Message, not {type(rendered).__name__}")
    if not messages:
        raise ValueError("the prompt is empty: give it a system, user or other message")
    return tuple(messages)


def instructed(messages: tuple[Message, ...], instructions: Sequence[str]) -> tuple[Message, ...]:
    """The messages with a caller's own instructions after the function's: those come first, if it has any."""
    if not instructions:
        return messages
    own = sum(1 for _ in takewhile(lambda message: message.role == "system", messages))
    return (*messages[:own], *(Message(role="system", content=said) for said in instructions), *messages[own:])


def _said(role: Role, content: object) -> list[Message]:
    if content is None:
        return []
    if not isinstance(content, str):
        raise TypeError(f"a prompt's {role} part is a str, not {type(content).__name__}")
    return [Message(role=role, content=content)]


def _all_messages(given: Iterable[object]) -> list[Message]:
    parts = list(given)
    messages = [part for part in parts if isinstance(part, Message)]
    if len(messages) < len(parts):
        wrong = next(part for part in parts if not isinstance(part, Message))
        raise TypeError(f"a conversation consists of Message(role=…, content=…), not of {type(wrong).__name__}")
    return messages
