"""One call as its caller sees it: what is asked, what came of it, and when. Times are those of
``time.perf_counter``, in seconds: an event loop's own clock may stand still for a millisecond."""

from array import array
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked, each time the same."""

    function: str
    input: bytes
    """JSON."""
    max_tokens: int | None = None


@dataclass(slots=True)
class Answer:
    """Filled while it arrives, so that something is known of a call that never ends."""

    dialing: float | None = None
    """Seconds that a connection took, with TLS; ``None`` on one that was there already."""
    sent: float = 0.0
    """When the request went out; with 0, it did not."""
    pieces: "array[float]" = field(default_factory=lambda: array("d"))
    """When each piece came."""
    ended: float = 0.0
    received: int = 0
    """Bytes, heads and framing among them, TLS's own not."""
    tokens: int | None = None
    """As the provider counted them, where it did."""
    between: tuple[str, ...] = ()
    """What the reply's head tells of those it passed through."""
    failure: "CallFailedError | None" = None


class CallFailedError(Exception):
    """A call that brought no whole answer. Its text is the server's message, or says what was seen."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        """One of ``domain.errors.Reason`` where the server has told it; else a name of ours, or ``http_502``."""
        self.message = message


class Caller(Protocol):
    """One caller, with a connection of its own that is kept from call to call."""

    async def call(self, call: Call, answer: Answer) -> None:
        """Ask, and read to the end. Raises ``CallFailedError``. When it is cancelled, the connection is closed."""
        ...

    async def close(self) -> None: ...
