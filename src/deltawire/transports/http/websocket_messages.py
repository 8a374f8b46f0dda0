"""The messages of ``/v1/ws``, in and out. Pure.

In: JSON, one object a message, tagged with ``type``. Out: the events of a run as JSON that also names the run's ``id``.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Event, Finished, Reasoning, Refusal, Started, Text
from deltawire.domain.run import RunRequest
from deltawire.transports import codec

Id = Annotated[str, Meta(min_length=1, max_length=128)]
"""A run's name on its socket, which its caller chooses."""


class RunMessage(RunRequest, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="run"):
    """Start a run: a run request that names its function and the run."""

    id: Id
    function: str


class CancelMessage(Struct, frozen=True, forbid_unknown_fields=True, tag="cancel"):
    """Stop a run."""

    id: Id


class _Envelope(Struct, frozen=True, tag="run"):
    """What a message must have at least, so that its run can be told what is wrong with it."""

    id: Id
    function: str


_SHAPE = '{"type": "run", "id": "…", "function": "…", "input": …} or {"type": "cancel", "id": "…"}'
_messages = msgspec.json.Decoder(RunMessage | CancelMessage)
_envelopes = msgspec.json.Decoder(_Envelope)
_encode = msgspec.json.Encoder().encode


def read(message: bytes) -> RunMessage | CancelMessage:
    """Raises ``RunError``: invalid_json for what is no JSON, invalid_input for JSON of another shape."""
    return codec.decode(_messages, message, _SHAPE, what="message")


def id_in(message: bytes, error: RunError) -> str | None:
    """The id of the run that a message asks for, where nothing but the run request in it is wrong."""
    if error.reason is not Reason.invalid_input:
        return None
    try:
        return _envelopes.decode(message).id
    except msgspec.DecodeError:
        return None


class Encoder:
    """The events of one run, or those without an id. What all its pieces begin with is made once."""

    __slots__ = ("_beginnings", "_id")

    def __init__(self, run: str | None) -> None:
        self._id = b"" if run is None else b',"id":' + _encode(run)
        self._beginnings = {kind: self._tag(name) + b',"text":"' for kind, name in _NAMES.items()}

    def event(self, event: Event) -> bytes:
        """An event that is no piece."""
        tag = b'{"type":"' + _NAMES[type(event)] + b'"'
        return self._tag(_NAMES[type(event)]) + _encode(event)[len(tag) :]

    def quoted(self, piece: Text | Reasoning) -> bytes:
        """A text as it stands within the quotes of a JSON string."""
        return _encode(piece.text)[1:-1]

    def pieces(self, kind: type[Event], texts: Sequence[bytes]) -> bytes:
        """Adjacent pieces of one kind as one event. ``texts`` are their words as ``quoted`` makes them."""
        return self._beginnings[kind] + b"".join(texts) + b'"}'

    def _tag(self, name: bytes) -> bytes:
        return b'{"type":"' + name + b'"' + self._id


_NAMES: dict[type[Event], bytes] = {
    Started: b"started",
    Text: b"text",
    Refusal: b"text",
    Reasoning: b"reasoning",
    Finished: b"finished",
    Error: b"error",
}
