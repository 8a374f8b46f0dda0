"""What an OpenAI-compatible server says: chat completions as events of a stream in any framing, and whole replies."""

import json
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.upstream.script import Body, Headers, Step, Steps, head, reply

Usage: TypeAlias = tuple[int, int]
"""Tokens in, tokens out."""

_CREATED = 1_790_000_000


@dataclass(frozen=True, slots=True)
class ChatStream:
    """Chat-completion events in one framing of server-sent events; to a conforming reader all framings are one."""

    newline: str = "\n"
    space: bool = True
    """Whether a space follows the colon of a field."""
    two_lines: bool = False
    """Whether the JSON of an event is cut over two data lines."""
    escaped: bool = False
    r"""Whether text beyond ASCII is written as ``\uXXXX`` (above U+FFFF as a pair), rather than as UTF-8."""
    id: str = "chatcmpl-1"
    model: str = "scripted"

    def event(self, payload: object, *, name: str | None = None) -> Step:
        """Any payload: a string as it stands, anything else as JSON; ``name`` adds an ``event:`` line."""
        lines = [] if name is None else [self._field("event", name)]
        content = payload if isinstance(payload, str) else self._json(payload)
        if self.two_lines and content.startswith("{"):
            lines += [self._field("data", "{"), self._field("data", content[1:])]
        else:
            lines += [self._field("data", content)]
        return Body(self.newline.join([*lines, "", ""]).encode())

    def comment(self, content: str = "") -> Step:
        """A line that readers ignore: a heartbeat."""
        return Body(f":{content}{self.newline}{self.newline}".encode())

    def chunk(
        self, delta: dict[str, Any], *, finish_reason: str | None = None, index: int = 0, **fields: object
    ) -> Step:
        """One chunk with one choice; ``fields`` go beside ``choices``."""
        choice = {"index": index, "delta": delta, "finish_reason": finish_reason}
        return self.event({**self._envelope(), "choices": [choice], **fields})

    def role(self) -> Step:
        """The chunk that most servers send first; it holds no text."""
        return self.chunk({"role": "assistant", "content": ""})

    def text(self, content: str, *, index: int = 0) -> Step:
        return self.chunk({"content": content}, index=index)

    def reasoning(self, content: str, *, key: str = "reasoning_content") -> Step:
        """A piece of reasoning; servers differ in the key (`reasoning` is the other one)."""
        return self.chunk({key: content, "content": None})

    def refusal(self, content: str) -> Step:
        return self.chunk({"refusal": content})

    def finish(self, reason: str = "stop", *, index: int = 0) -> Step:
        return self.chunk({}, finish_reason=reason, index=index)

    def usage(self, input_tokens: int, output_tokens: int) -> Step:
        """The chunk without choices that carries the counts."""
        return self.event({**self._envelope(), "choices": [], "usage": _usage((input_tokens, output_tokens))})

    def done(self) -> Step:
        """The end marker."""
        return self.event("[DONE]")

    def error_event(self, message: str, *, code: str | None = None, name: str | None = None) -> Step:
        """An error in the middle of a stream, as servers send it after their 200."""
        return self.event({"error": {"message": message, "type": "server_error", "code": code}}, name=name)

    def answer(self, *pieces: str, finish_reason: str = "stop", usage: Usage = (9, 2)) -> Step:
        """A whole good stream: head, role, the pieces, the finish, usage, the end marker."""
        texts = [self.text(piece) for piece in pieces]
        return Steps((head(), self.role(), *texts, self.finish(finish_reason), self.usage(*usage), self.done()))

    def _envelope(self) -> dict[str, object]:
        return {"id": self.id, "object": "chat.completion.chunk", "created": _CREATED, "model": self.model}

    def _field(self, name: str, value: str) -> str:
        return f"{name}:{' ' if self.space else ''}{value}"

    def _json(self, payload: object) -> str:
        # A lone surrogate has no UTF-8: only its escape can be sent.
        encoded = json.dumps(payload, ensure_ascii=self.escaped, separators=(",", ":"))
        try:
            encoded.encode()
        except UnicodeEncodeError:
            encoded = json.dumps(payload, separators=(",", ":"))
        return encoded


FRAMINGS: dict[str, ChatStream] = {
    "lf": ChatStream(),
    "crlf": ChatStream(newline="\r\n"),
    "cr": ChatStream(newline="\r"),
    "no-space": ChatStream(space=False),
    "two-lines": ChatStream(two_lines=True),
    "escaped": ChatStream(escaped=True),
    "crlf-two-lines-no-space": ChatStream(newline="\r\n", two_lines=True, space=False),
}
"""The framings that servers are known to use, by a name fit for a test's parameter."""

_default = FRAMINGS["lf"]
event = _default.event
comment = _default.comment
role = _default.role
text = _default.text
reasoning = _default.reasoning
refusal = _default.refusal
finish = _default.finish
usage = _default.usage
done = _default.done
error_event = _default.error_event
answer = _default.answer


def completion(
    content: str | None,
    *,
    finish_reason: str = "stop",
    usage: Usage = (9, 2),
    headers: Headers = (),
    **message: object,
) -> Step:
    """A whole reply to a call that does not stream; ``message`` adds to the message (``refusal="…"``)."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": finish_reason,
    }
    payload = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": _CREATED,
        "model": "scripted",
        "choices": [choice],
        "usage": _usage(usage),
    }
    return reply(200, _encode(payload), headers=headers)


def error_reply(
    status: int,
    message: str = "scripted failure",
    *,
    code: str | int | None = None,
    headers: Headers = (),
    **fields: object,
) -> Step:
    """A failure in OpenAI's form; ``fields`` go into the error object (``param=…``, ``innererror=…``)."""
    payload = {"error": {"message": message, "type": "invalid_request_error", "code": code, **fields}}
    return reply(status, _encode(payload), headers=headers)


def html_reply(status: int = 502, title: str = "502 Bad Gateway") -> Step:
    """What a proxy in front of the model server says when the model server is down."""
    page = f"<html><head><title>{title}</title></head><body><h1>{title}</h1><hr>nginx</body></html>"
    return reply(status, page.encode(), content_type="text/html")


def _usage(tokens: Usage) -> dict[str, int]:
    return {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}


def _encode(payload: object) -> bytes:
    return json.dumps(payload, separators=(",", ":")).encode()
