"""What the page's tables write in few words: the steps of a provider, and how a call differs from the usual one."""

import gzip
import json
import re
from dataclasses import dataclass, field

from tests.upstream import (
    Gate,
    Step,
    body,
    close,
    comment,
    completion,
    done,
    error_event,
    error_reply,
    event,
    finish,
    head,
    html_reply,
    raw,
    reasoning,
    refusal,
    reply,
    reset,
    silence,
    text,
    usage,
)

_STEP = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^;"])+')
LONG = "x" * 100


@dataclass(slots=True)
class Stop:
    """A place where the script waits: for the caller to have what was sent (``pause``), to have seen a heartbeat
    (``hold``), to have canceled the run (``cancel``), or to have left (``leave``)."""

    kind: str
    words: str = ""
    """What was said last before it."""
    reasoned: bool = False
    """Whether that was reasoning, which not every transport shows."""
    gate: Gate = field(default_factory=Gate)

    def shown_in(self, news: bytes, transport: str) -> bool:
        """Whether a caller who streams has the words by now."""
        if transport == "text":
            return self.reasoned or self.words.encode() in news
        return json.dumps(self.words, ensure_ascii=False).encode() in news


@dataclass(slots=True)
class Script:
    attempts: list[list[Step]] = field(default_factory=lambda: [[]])
    """The steps for each request that the provider gets."""
    stops: list[Stop] = field(default_factory=list[Stop])
    finish: str | None = None
    failed: bool = False
    done: bool = False
    _said: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _last: str = ""
    _reasoned: bool = False

    @classmethod
    def read(cls, notation: str) -> "Script":
        script = cls()
        for match in _STEP.finditer(notation):
            script._add(match[0].strip())
        return script

    def text(self, *, typed: bool) -> str:
        """The text that reaches the caller; a refusal is part of it where a typed answer was not asked for. ``long``
        is there to be too long, and never does."""
        return "".join(words for verb, words in self._said if verb != "refusal" or not typed)

    @property
    def finish_reason(self) -> str | None:
        """What its end means in our words: a reason that is not ours, and an end marker alone, are unknown."""
        if self.finish is None:
            return "unknown" if self.done else None
        if self.finish == "stop" and any(verb == "refusal" for verb, _ in self._said):
            return "refusal"
        return self.finish if self.finish in ("stop", "length", "content_filter") else "unknown"

    def _add(self, step: str) -> None:
        verb, _, rest = step.partition(" ")
        match verb:
            case "then":
                self.attempts.append([])
            case "pause" | "hold" | "cancel" | "leave":
                stop = Stop(verb, self._last, self._reasoned)
                self.stops.append(stop)
                self.attempts[-1].append(stop.gate.wait())
            case _:
                if verb in ("text", "refusal", "completion"):
                    self._said.append((verb, json.loads(rest)))
                if verb in ("text", "refusal", "reasoning"):
                    self._last, self._reasoned = json.loads(rest), verb == "reasoning"
                if verb in ("finish", "completion"):
                    self.finish = rest if verb == "finish" else "stop"
                self.failed = self.failed or verb == "error"
                self.done = (self.done or verb == "done") and not self.failed
                self.attempts[-1].append(_step(verb, rest))


def _step(verb: str, rest: str) -> Step:
    match verb:
        case "head":
            return head()
        case "text":
            return text(json.loads(rest))
        case "long":
            return text(LONG)
        case "reasoning":
            return reasoning(json.loads(rest))
        case "refusal":
            return refusal(json.loads(rest))
        case "finish":
            return finish(rest)
        case "usage":
            return usage(*(int(count) for count in rest.split()))
        case "done":
            return done()
        case "error":
            code, _, message = rest.partition(" ")
            return error_event(json.loads(message), code=code)
        case "data":
            return event(rest)
        case "comment":
            return comment()
        case _:
            return _whole(verb, rest)


def _whole(verb: str, rest: str) -> Step:
    match verb:
        case "completion":
            return completion(json.loads(rest))
        case "document":
            return reply(200, rest.encode())
        case "reply":
            return _error_reply(rest)
        case "html":
            return html_reply(int(rest))
        case "bytes":
            return raw(json.loads(rest).encode())
        case "body":
            return body(json.loads(rest).encode())
        case "close":
            return close()
        case "reset":
            return reset()
        case "silence":
            return silence()
        case _:
            raise ValueError(f"no step is called {verb!r}")


def _error_reply(rest: str) -> Step:
    status, _, rest = rest.partition(" ")
    message, end = json.JSONDecoder().raw_decode(rest)
    options = dict(option.split("=") for option in rest[end:].split())
    code = options.pop("code", None)
    return error_reply(int(status), message, code=code, headers=options)


@dataclass(slots=True)
class Call:
    """A call of one function, and in what it differs from the usual one."""

    function: str
    input: str = '{"message":"hi"}'
    messages: str = ""
    """The messages on OpenAI's wire, where they are others than the input's one text."""
    members: str = ""
    """Members beside the input, as they stand in the JSON."""
    body: bytes | None = None
    chunked: bool = False
    stalls: bool = False
    """Whether the body stops in the middle for longer than the hurried server waits."""
    path: str | None = None
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    coding: str | None = None
    """How the body is compressed: ``whole``, ``damaged``, ``cut``, or ``of 2 MB``: well, and with that much in it."""
    accept: str = "yes"
    """``q=0``: the caller rules out the reply that it should get; ``missing``: it does not say what it accepts."""

    deadline: float | None = None
    """Seconds that the call may take, said the way that its protocol has for it."""

    others: int = 0
    """How many runs are under way on the call's socket. Where it is one, that has the same id."""
    drains: bool = False
    """Whether the server shuts down before the call."""
    ends: bool = False
    """Whether the server ends when the provider has done what it does."""
    ill: bool = False
    """Whether the function's model has failed as often as it may before the call."""
    full: bool = False
    """Whether the server has as many runs as it may have."""

    @classmethod
    def read(cls, function: str, notation: str) -> "Call":
        call = cls(function)
        verb, _, rest = notation.partition(" ")
        match verb:
            case "":
                pass
            case "input":
                call.input = rest
            case "messages":
                call.messages = rest
            case "with":
                call.members = "," + rest
            case "path":
                call.path = rest
            case "method":
                call.method = rest
            case "header":
                name, _, value = rest.partition(": ")
                call.headers[name] = value
            case "gzip":
                call.headers["content-encoding"] = "gzip"
                call.coding = rest or "whole"
            case "accept":
                call.accept = rest
            case "deadline":
                call.deadline = float(rest)
            case "after" if rest == "failures":
                call.ill = True
            case "after":
                call.others = 1 if rest == "its like" else int(rest.removesuffix(" others"))
            case "on":
                call.full = True
            case "while":
                call.drains = True
            case "when":
                call.ends = True
            case "body" if rest == "stalls":
                call.stalls = True
            case "body":
                call.body = _BODIES.get(rest, rest.encode())
                call.chunked = rest.endswith("in chunks")
            case _:
                raise ValueError(f"no difference of a call is called {verb!r}")
        return call

    def run_request(self) -> bytes:
        return self.coded(f'{{"input":{self.input}{self.members}}}'.encode())

    def invoke_request(self) -> bytes:
        return self.coded(f'{{"type":"{self.function}","input":{self.input}{self.members}}}'.encode())

    def rpc_request(self) -> str:
        """A ``RunRequest`` in ProtoJSON."""
        return f'{{"function":"{self.function}","inputJson":{json.dumps(self.input)}{self.members}}}'

    def coded(self, usual: bytes) -> bytes:
        """The body, or the message, as it is sent: another one than usual, or compressed."""
        body = self.body if self.body is not None else usual
        match self.coding:
            case "damaged":
                return gzip.compress(body)[:-8] + b"-damaged"
            case "cut":
                return gzip.compress(body)[:-4]
            case "of 2 MB":
                return gzip.compress(_BODIES["of 2 MB"])
            case "whole":
                return gzip.compress(body)
            case _:
                return body

    def chat_request(self, *, stream: bool) -> bytes:
        streamed = ',"stream":true' if stream else ""
        messages = self.messages or json.dumps([{"role": "user", "content": said} for said in self._texts()])
        return self.coded(f'{{"model":"{self.function}","messages":{messages}{streamed}{self.members}}}'.encode())

    def _texts(self) -> list[str]:
        given: dict[str, str] = json.loads(self.input)
        return [*given.values()]


_BODIES: dict[str, bytes] = {
    "in Latin-1": '{"input":{"message":"Käse"}}'.encode("latin-1"),
    "of 2 MB": b'{"input":{"message":"' + b"x" * 2_000_000 + b'"}}',
    "of 2 MB in chunks": b'{"input":{"message":"' + b"x" * 2_000_000 + b'"}}',
}
