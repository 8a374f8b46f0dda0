"""The steps that a script is made of: plain values that say what the upstream does next."""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeAlias

Headers: TypeAlias = dict[str, str] | Sequence[tuple[str, str]]
"""Names and values, sent as they stand and in this order."""

EVENT_STREAM = "text/event-stream; charset=utf-8"


class Gate:
    """A pause that the test ends. Once open it stays open, for every script that comes to it."""

    def __init__(self) -> None:
        self._opened = asyncio.Event()
        self._arrived = asyncio.Condition()
        self.arrivals = 0

    def wait(self) -> "Step":
        """The step that waits here."""
        return Wait(self)

    def open(self) -> None:
        self._opened.set()

    async def reached(self, times: int = 1, *, within: float = 30.0) -> None:
        """Return when so many scripts have come to the gate: what stands before it has been sent."""
        try:
            async with asyncio.timeout(within), self._arrived:
                await self._arrived.wait_for(lambda: self.arrivals >= times)
        except TimeoutError:
            raise AssertionError(f"{self.arrivals} of {times} scripts reached the gate within {within} s") from None

    async def pass_through(self) -> None:
        """What the player does at this step."""
        async with self._arrived:
            self.arrivals += 1
            self._arrived.notify_all()
        await self._opened.wait()


@dataclass(frozen=True, slots=True)
class Head:
    """Status line and headers, and by them the framing of the body: chunked, so many bytes, or until the close."""

    data: bytes
    chunked: bool
    until_close: bool


@dataclass(frozen=True, slots=True)
class Body:
    data: bytes


@dataclass(frozen=True, slots=True)
class Raw:
    data: bytes


@dataclass(frozen=True, slots=True)
class End:
    pass


@dataclass(frozen=True, slots=True)
class Close:
    pass


@dataclass(frozen=True, slots=True)
class Reset:
    pass


@dataclass(frozen=True, slots=True)
class Silence:
    pass


@dataclass(frozen=True, slots=True)
class Wait:
    gate: Gate


@dataclass(frozen=True, slots=True)
class Delay:
    seconds: float


@dataclass(frozen=True, slots=True)
class Repeat:
    step: "Step"
    times: int | None


@dataclass(frozen=True, slots=True)
class Bytewise:
    steps: "tuple[Step, ...]"


@dataclass(frozen=True, slots=True)
class Together:
    steps: "tuple[Step, ...]"


@dataclass(frozen=True, slots=True)
class Steps:
    """Several steps that go as one, so that a whole reply can stand where a step can."""

    steps: "tuple[Step, ...]" = field(default=())


Step: TypeAlias = (
    Head | Body | Raw | End | Close | Reset | Silence | Wait | Delay | Repeat | Bytewise | Together | Steps
)


def head(
    status: int = 200,
    *,
    content_type: str | None = EVENT_STREAM,
    headers: Headers = (),
    length: int | None = None,
    until_close: bool = False,
    reason: str | None = None,
) -> Step:
    """The head of a reply. ``length`` may lie; ``until_close`` sends no framing header at all."""
    lines = [f"HTTP/1.1 {status} {_phrase(status) if reason is None else reason}"]
    if content_type is not None:
        lines.append(f"content-type: {content_type}")
    pairs = headers.items() if isinstance(headers, dict) else headers
    lines += [f"{name}: {value}" for name, value in pairs]
    chunked = length is None and not until_close
    if chunked:
        lines.append("transfer-encoding: chunked")
    elif length is not None:
        lines.append(f"content-length: {length}")
    else:
        lines.append("connection: close")
    return Head("\r\n".join([*lines, "", ""]).encode("latin-1"), chunked, until_close)


def body(data: bytes) -> Step:
    return Body(data)


def raw(data: bytes) -> Step:
    return Raw(data)


def end() -> Step:
    return End()


def close() -> Step:
    return Close()


def reset() -> Step:
    return Reset()


def silence() -> Step:
    return Silence()


def delay(seconds: float) -> Step:
    return Delay(seconds)


def repeat(step: Step, times: int | None = None) -> Step:
    return Repeat(step, times)


def bytewise(*steps: Step) -> Step:
    return Bytewise(steps)


def together(*steps: Step) -> Step:
    return Together(steps)


def cut(step: Step, *offsets: int) -> Step:
    """The body step in pieces; the offsets count its bytes, as in a slice (negative ones from its end)."""
    if not isinstance(step, Body):
        raise TypeError(f"only a body step can be cut, not {step!r}")
    size = len(step.data)
    edges = [0, *sorted(offset % size for offset in offsets), size]
    return Steps(tuple(Body(step.data[start:stop]) for start, stop in itertools.pairwise(edges)))


def reply(status: int, content: bytes, *, content_type: str = "application/json", headers: Headers = ()) -> Step:
    """A whole reply with its content length."""
    return Steps((head(status, content_type=content_type, headers=headers, length=len(content)), Body(content)))


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
