"""What a supervisor and its workers say to each other: over a Unix socket, a line of JSON each."""

from typing import TypeAlias

import msgspec
from msgspec import Struct

from deltawire.domain.errors import Reason

LONGEST = 2**24
"""Bytes of a line: a banner names each function."""


class Ready(Struct, frozen=True, tag="ready"):
    """Of a worker: calls are accepted."""

    functions: list[str]
    banner: str
    """As it is shown to a person."""


class Wanted(Struct, frozen=True, tag="wanted"):
    """Of a worker: a run needs this local model. ``id`` is the answer's, too."""

    id: int
    model: str


class Found(Struct, frozen=True, tag="found"):
    """The model runs, and listens there."""

    id: int
    base_url: str
    api_key: str


class Missing(Struct, frozen=True, tag="missing"):
    """It does not: the fields of the ``RunError``."""

    id: int
    reason: Reason
    message: str
    retry_after: float | None
    retry_safe: bool


class End(Struct, frozen=True, tag="end"):
    """Of the supervisor: as a first signal asks for, or as a second one does."""

    at_once: bool


FromWorker: TypeAlias = Ready | Wanted
FromSupervisor: TypeAlias = Found | Missing | End

_ENCODER = msgspec.json.Encoder()
_OF_WORKERS = msgspec.json.Decoder[FromWorker](FromWorker)
_OF_SUPERVISORS = msgspec.json.Decoder[FromSupervisor](FromSupervisor)


def line(message: FromWorker | FromSupervisor) -> bytes:
    return _ENCODER.encode(message) + b"\n"


def from_worker(said: bytes) -> FromWorker:
    return _OF_WORKERS.decode(said)


def from_supervisor(said: bytes) -> FromSupervisor:
    return _OF_SUPERVISORS.decode(said)
