"""One run before it is made: what is asked, what the provider does, how the caller behaves, what must come of it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from random import Random

from tests.matrix.notation import Call
from tests.upstream import Gate, Step


class Manner(Enum):
    """How a caller behaves."""

    reads = auto()
    reads_slowly = auto()
    leaves_when_asked = auto()
    """Leaves when the provider has got the request."""
    leaves_when_begun = auto()
    """Leaves at the first sign of a reply, be it a heartbeat."""
    leaves_at_content = auto()
    """Leaves when it has read the first piece, where its wire shows that."""
    leaves_at_the_end = auto()
    """Leaves while the provider says its last words."""
    takes_nothing = auto()
    """Reads nothing until it is given up."""
    leaves_its_body = auto()
    """Leaves in the middle of its own request."""
    stalls_its_body = auto()
    """Stops in the middle of its own request, and waits for what the server says."""
    sends_bytes = auto()
    """Sends bytes that are no call."""


@dataclass(slots=True)
class Play:
    call: Call
    outcomes: frozenset[str]
    """Each that the run may have in the log: ``finished``, or the reason of an error. None: it has no line there."""
    scripts: Sequence[Sequence[Step]] = ()
    """What the provider does, for one request after another; the last one is for all that follow."""
    said: str = ""
    """All that the provider says of text: what finishes is exactly it, and what fails is a beginning of it."""
    output: object = None
    """The value of a typed answer."""
    of_models: Mapping[str, Sequence[Step]] = field(default_factory=dict[str, Sequence[Step]])
    """What it does for one model or another instead, however often it is asked."""
    manner: Manner = Manner.reads
    resets: bool = False
    """Whether a caller that leaves resets its connection."""
    gate: Gate = field(default_factory=Gate)
    """Where the provider waits for the caller."""
    told: frozenset[str] = frozenset()
    """What the caller may be told besides the outcomes, where it is told in other words than the log's."""
    may_not_arrive: bool = False
    """Whether the caller may give up before the server hears of it: then no line in the log is no fault."""
    sent: bytes = b""
    """The bytes that are no call."""

    @property
    def leaves(self) -> bool:
        return self.manner.name.startswith("leaves")


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a run is made: what is random in it, the words by which its provider knows it, and the wire."""

    random: Random
    key: str
    wire: str

    @property
    def prompt(self) -> str:
        """The input."""
        return json.dumps({"message": self.key})


Make = Callable[[Scene], Play]


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    wires: tuple[str, ...]
    make: Make
    often: int = 1
    """How often a round plays it on each wire."""


@dataclass(slots=True)
class Seen:
    """What a caller saw of its run."""

    ends: list[str] = field(default_factory=list[str])
    """The terminal events: ``finished``, the reason of an error, or what stands for it."""
    text: str = ""
    output: object = None
    run_id: str | None = None
    left: bool = False
    cut: bool = False
    """Whether the connection ended before the reply did."""
    raw: str = ""
    """The reply, for whoever has to find out."""
