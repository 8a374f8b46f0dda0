"""The body of ``POST /v1/chat/completions`` (OpenAI API reference, "Create chat completion"), read field by field.

In: JSON. Out: what is to be run. A field that we cannot honour is refused where leaving it out would give the caller
another answer, or another form of answer, than it asked for; what only tunes the model or the billing is the function's
own affair and is left out, as are fields that we do not know: official clients send many.
"""

import re
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.function import Function
from deltawire.domain.run import InstructedRequest, RunSettings
from deltawire.transports import codec
from deltawire.transports.http.conversation import Conversation, Said

_SHAPE = '{"model": "…", "messages": […]}'
_NO_TOOLS = "functions call no tools here"

_REFUSED = {
    "tools": _NO_TOOLS,
    "functions": _NO_TOOLS,
    "audio": "an answer is text",
    "logprobs": "no probabilities are kept",
    "top_logprobs": "no probabilities are kept",
    "logit_bias": "the function's own settings decide",
    "stop": "the function's own settings decide where an answer ends",
    "web_search_options": "functions do not search",
    "moderation": "answers are not moderated here",
}
"""Fields that change the answer itself, and why they are not taken."""

_SWITCHES = frozenset({"audio", "moderation", "web_search_options"})
"""Those of them that are wanted when they are there, be it as an empty object."""

_PLACE = re.compile(r"(?:at|field) `([^`]+)`$")


class RequestError(RunError):
    """A request that cannot be run. ``param`` is the field that is wrong, where it is one."""

    def __init__(self, reason: Reason, message: str, param: str | None) -> None:
        super().__init__(reason, message)
        self.param = param


class _Part(Struct):
    type: str
    text: str | None = None
    refusal: str | None = None


class _Message(Struct):
    role: str
    content: str | list[_Part] | None = None
    refusal: str | None = None
    tool_calls: object = None
    function_call: object = None


class _StreamOptions(Struct):
    include_usage: bool | None = None


class _ResponseFormat(Struct):
    type: str


_Length = Annotated[int, Meta(ge=1)] | None


class ChatRequest(Struct):
    """The fields that are used, or refused."""

    model: str
    messages: list[_Message]
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: _Length = None
    max_completion_tokens: _Length = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    seed: int | None = None
    user: str | None = None
    safety_identifier: str | None = None
    n: int | None = None
    modalities: list[str] | None = None
    response_format: _ResponseFormat | None = None
    tools: object = None
    functions: object = None
    audio: object = None
    logprobs: object = None
    top_logprobs: object = None
    logit_bias: object = None
    stop: object = None
    web_search_options: object = None
    moderation: object = None
    variant: str | None = None
    timeout: Annotated[float, Meta(gt=0)] | None = None

    @property
    def wants_usage(self) -> bool:
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    def run_request(self, function: Function, conversation: Conversation | None) -> InstructedRequest:
        """Raises ``RequestError`` (invalid_input) for what this function cannot be asked for."""
        if conversation is None:
            message = f"model: function '{function.name}' takes no messages; call it at /v1/functions/{function.name}"
            raise RequestError(Reason.invalid_input, message, "model")
        self._refuse(function)
        said = [_said(message, f"messages[{place}]") for place, message in enumerate(self.messages)]
        if not said:
            raise RequestError(Reason.invalid_input, "messages: the list is empty", "messages")
        try:
            given, instructions = conversation.input_of(said)
        except RunError as error:
            raise RequestError(error.reason, error.message, "messages") from None
        lengths = [length for length in (self.max_tokens, self.max_completion_tokens) if length is not None]
        return InstructedRequest(
            input=Raw(given),
            user=self.user or self.safety_identifier,
            variant=self.variant,
            settings=RunSettings(min(lengths, default=None), self.temperature, self.seed),
            timeout=self.timeout,
            instructions=instructions,
        )

    def _refuse(self, function: Function) -> None:
        for field, why in _REFUSED.items():
            given = getattr(self, field)
            if given or (given == {} and field in _SWITCHES):
                raise RequestError(Reason.invalid_input, f"{field}: {why}; leave it out", field)
        if self.n not in (None, 1):
            raise RequestError(Reason.invalid_input, "n: a run has one answer; leave it out", "n")
        if self.modalities not in (None, [], ["text"]):
            raise RequestError(Reason.invalid_input, "modalities: an answer is text; leave it out", "modalities")
        if self.response_format is not None:
            _check_format(self.response_format.type, function)


def _check_format(wanted: str, function: Function) -> None:
    """A typed function answers in JSON, and in its own schema, whatever is asked for; a text function in text."""
    if function.output.is_text == (wanted == "text"):
        return
    if function.output.is_text:
        message = f"response_format: function '{function.name}' answers in text, not in {wanted[:40]}; leave it out"
    else:
        message = f"response_format: function '{function.name}' answers in JSON, not in text; leave it out"
    raise RequestError(Reason.invalid_input, message, "response_format")


def chat_request(body: bytes) -> ChatRequest:
    """Raises ``RequestError``: invalid_json for what is no JSON, invalid_input for JSON of another shape."""
    try:
        return codec.decode(_chat_requests, body, _SHAPE)
    except RunError as error:
        place = _PLACE.search(error.message) if error.reason is Reason.invalid_input else None
        raise RequestError(error.reason, error.message, place and place[1]) from None


_chat_requests = msgspec.json.Decoder(ChatRequest)


def _said(message: _Message, at: str) -> Said:
    if message.tool_calls or message.function_call:
        raise RequestError(Reason.invalid_input, f"{at}.tool_calls: {_NO_TOOLS}; send text", f"{at}.tool_calls")
    content = _content(message, at)
    match message.role:
        case "system" | "developer":
            return Said("system", content)
        case "user" | "assistant":
            return Said(message.role, content)
        case other:
            text = f"{at}.role: '{other[:40]}' is none of 'system', 'developer', 'user', 'assistant'"
            raise RequestError(Reason.invalid_input, text, f"{at}.role")


def _content(message: _Message, at: str) -> str:
    """The text of a message. Its parts, where it has several, become lines of their own."""
    if isinstance(message.content, str):
        return message.content
    if message.content is not None:
        return "\n".join(_text(part, f"{at}.content[{place}]") for place, part in enumerate(message.content))
    if message.refusal is not None:
        return message.refusal
    raise RequestError(Reason.invalid_input, f"{at}.content: is missing; send text", f"{at}.content")


def _text(part: _Part, at: str) -> str:
    text = {"text": part.text, "refusal": part.refusal}.get(part.type)
    if text is None:
        raise RequestError(
            Reason.invalid_input, f"{at}: a part of type '{part.type[:40]}' holds no text; send text", at
        )
    return text
