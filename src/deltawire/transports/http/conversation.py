"""How a function takes a conversation: which of its parameters gets the messages, and which the user's last words.

In: a function, and the messages of a caller who knows nothing of its parameters. Out: the function's input as JSON, and
the instructions that no parameter can take.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args, get_origin

import msgspec
from msgspec import Struct
from pydantic.fields import FieldInfo

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.function import Function
from deltawire.domain.prompt import Message


class Said(Struct, frozen=True):
    """One message of a caller, decoded and not yet anything of a function's own."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """``messages`` is what callers call the parameter that takes a list of messages, ``words`` the required ``str``
    that takes what the user says last. At least one of the two is there."""

    messages: str | None
    words: str | None

    @classmethod
    def of(cls, function: Function) -> "Conversation | None":
        """``None`` for a function that cannot be called with messages alone."""
        lists = [(name, field) for name, field in function.inputs.model_fields.items() if _takes_messages(field)]
        required = [
            (name, field)
            for name, field in function.inputs.model_fields.items()
            if field.is_required() and not _takes_messages(field)
        ]
        match lists, required:
            case [(name, field)], []:
                taken = cls(_called(name, field), None)
            case [(name, field)], [(other, words)] if words.annotation is str:
                taken = cls(_called(name, field), _called(other, words))
                if taken.words is None:
                    return None
            case [], _:
                taken = cls(None, function.text_input)
            case _:
                return None
        return taken if taken.messages or taken.words else None

    def input_of(self, said: Sequence[Said]) -> tuple[bytes, tuple[str, ...]]:
        """The input as JSON text, and the instructions beside it.

        Raises ``RunError`` (invalid_input) where the user's last words are wanted and are not the end of the messages.
        """
        if self.words is None:
            return msgspec.json.encode({self.messages: said}), ()
        last = max((place for place, one in enumerate(said) if one.role == "user"), default=None)
        if last is None:
            raise RunError(Reason.invalid_input, "messages: one of role 'user' is needed")
        if any(one.role == "assistant" for one in said[last:]):
            raise RunError(
                Reason.invalid_input, "messages: the user's comes last, and an answer cannot be begun for us"
            )
        others = [*said[:last], *said[last + 1 :]]  # after it there are instructions at most
        if self.messages is None:
            instructions = tuple(one.content for one in others if one.role == "system")
            return msgspec.json.encode({self.words: said[last].content}), instructions
        return msgspec.json.encode({self.messages: others, self.words: said[last].content}), ()


def _called(name: str, field: FieldInfo) -> str | None:
    """What callers call it. One that is found at a path, or under several names, is none that we could give."""
    called = name if field.validation_alias is None else field.validation_alias
    return called if isinstance(called, str) else None


def _takes_messages(field: FieldInfo) -> bool:
    """Whether it is a ``list[Message]`` (or another sequence of them), perhaps with ``None`` as an alternative."""
    kinds = [kind for kind in (field.annotation, *get_args(field.annotation)) if get_args(kind)[:1] == (Message,)]
    return any(isinstance(origin, type) and issubclass(origin, Sequence) for origin in map(get_origin, kinds))
