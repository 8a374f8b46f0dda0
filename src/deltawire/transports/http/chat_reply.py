"""What OpenAI's clients read: chat completions whole and in chunks, models, and errors (OpenAI API reference, "Chat").

In: a run's events. Out: bytes. Pure.
"""

from collections.abc import Iterable

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from deltawire.domain.errors import Reason
from deltawire.domain.events import Error, Event, Finished, FinishReason, Reasoning, Refusal, Started, Text, Usage
from deltawire.transports.codec import json_line, one_line
from deltawire.transports.status import HTTP_STATUS

_encode = msgspec.json.Encoder().encode

_FINISH: dict[FinishReason, str | None] = {
    FinishReason.stop: "stop",
    FinishReason.length: "length",
    FinishReason.content_filter: "content_filter",
    FinishReason.refusal: "stop",  # the words stand in a field of their own
    FinishReason.unknown: None,  # there is no word for it, and `stop` would say that the answer is known to be whole
}

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class _Usage(Struct):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class _Message(Struct):
    role: str
    content: str | None
    refusal: str | None


class _Choice(Struct):
    index: int
    message: _Message
    logprobs: None
    finish_reason: str | None


class _Completion(Struct):
    id: str
    object: str
    created: int
    model: str
    choices: list[_Choice]
    usage: _Usage | UnsetType


class _Model(Struct):
    id: str
    object: str
    created: int
    owned_by: str


class _ErrorObject(Struct):
    message: str
    type: str
    param: str | None
    code: Reason
    run_id: str
    retry_after: float | UnsetType
    partial: bool


def completion(finished: Finished, model: str, created: int, *, typed: bool) -> bytes:
    """The reply in one piece. The content of a typed answer is its JSON text."""
    output = finished.output or Raw(b'""')
    content = bytes(output).decode() if typed else msgspec.json.decode(output, type=str)
    refused = finished.finish_reason is FinishReason.refusal
    message = _Message("assistant", None if refused else content, content if refused else None)
    choice = _Choice(0, message, None, _FINISH[finished.finish_reason])
    counted = UNSET if finished.usage is None else _usage(finished.usage)
    return _encode(_Completion(_id(finished.run_id), "chat.completion", created, model, [choice], counted))


def error_body(error: Error, param: str | None = None) -> bytes:
    """``code`` is our reason; ``run_id``, ``retry_after`` (seconds) and ``partial`` go beside OpenAI's members."""
    status = HTTP_STATUS[error.reason]
    kind = _TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error")
    described = _ErrorObject(error.message, kind, param, error.reason, error.run_id, error.retry_after, error.partial)
    return _encode({"error": described})


def model(name: str, created: int) -> bytes:
    return _encode(_model(name, created))


def models(names: Iterable[str], created: int) -> bytes:
    return _encode({"object": "list", "data": [_model(name, created) for name in names]})


class Chunks:
    """Encodes the events of one run as the chunks of one stream; what they have in common is put together once.

    The content of a typed answer is its validated JSON, so it comes when the run is over, in one chunk: what the model
    writes until then may yet turn out to be no answer.
    """

    __slots__ = ("_after", "_bare", "_before", "_end", "_opening", "_typed", "_usage")

    def __init__(self, run_id: str, model: str, created: int, *, typed: bool, usage: bool) -> None:
        head = f'data: {{"id":"{_id(run_id)}","object":"chat.completion.chunk","created":{created},"model":'
        self._bare = head.encode() + _encode(model) + b',"choices":'
        self._before = self._bare + b'[{"index":0,"delta":{'
        self._end = b',"usage":null}\n\n' if usage else b"}\n\n"
        self._after = b'},"finish_reason":null}]' + self._end
        self._opening = self._before + b'"role":"assistant","content":""' + self._after
        self._typed = typed
        self._usage = usage

    def encode(self, event: Event) -> bytes:
        if type(event) is Text:
            return b"" if self._typed else self._delta(b'"content":', event.text)
        match event:
            case Started():
                return b"" if self._typed else self._opened()
            case Reasoning():
                return self._opened() + self._delta(b'"reasoning_content":', event.text)
            case Refusal():
                return self._delta(b'"refusal":', event.text)
            case Finished():
                return self._finished(event)
            case Error():
                return b"data: " + one_line(error_body(event)) + b"\n\n"
            case _:
                return b""

    def _delta(self, field: bytes, text: str) -> bytes:
        return self._before + field + json_line(text) + self._after

    def _opened(self) -> bytes:
        opening, self._opening = self._opening, b""
        return opening

    def _finished(self, event: Finished) -> bytes:
        answer = b""
        if self._typed:
            answer = self._opened() + self._delta(b'"content":', bytes(event.output or b"").decode())
        reason = _encode(_FINISH[event.finish_reason])
        finish = self._before + b'},"finish_reason":' + reason + b"}]" + self._end
        return answer + finish + self._counted(event.usage) + b"data: [DONE]\n\n"

    def _counted(self, usage: Usage | None) -> bytes:
        """The chunk without choices. Where the provider has counted nothing there is none."""
        if usage is None or not self._usage:
            return b""
        return self._bare + b'[],"usage":' + _encode(_usage(usage)) + b"}\n\n"


def _id(run_id: str) -> str:
    return f"chatcmpl-{run_id}"


def _usage(usage: Usage) -> _Usage:
    return _Usage(usage.input_tokens, usage.output_tokens, usage.input_tokens + usage.output_tokens)


def _model(name: str, created: int) -> _Model:
    return _Model(name, "model", created, "deltawire")
