"""Events to messages of ``proto/deltawire`` and requests from them, as protobuf and as its JSON. Pure.

The same for every transport that speaks RPC. A text piece, which is all that a busy stream holds, takes the shortest
way; JSON is written straight from the events, in the mapping that protobuf defines for it (ProtoJSON).
"""

import base64
from collections.abc import Iterable

import msgspec
from google.protobuf import json_format
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError, Message
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from msgspec import UNSET, Raw, Struct

from deltawire.article import stream_pb2 as article_pb
from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, Event, Finished, Reasoning, Started, Text, Usage
from deltawire.domain.function import Function
from deltawire.domain.run import RunRequest, RunSettings, RunTimeout
from deltawire.transports import codec
from deltawire.transports.status import GRPC_STATUS
from deltawire.v1 import functions_pb2 as pb

FUNCTIONS = "deltawire.v1.Functions"
ARTICLE = "stream.ResponseStreamingService"
"""The service of the older streaming chat."""

ERROR_DOMAIN = "deltawire"
"""``domain`` of every ``google.rpc.ErrorInfo``."""

NO_EVENT = b""
"""An event that holds nothing, as protobuf: a sign of life. Its JSON is ``{}``."""

_LARGEST = 2**31 - 1
"""What the messages' counts can hold."""

_TEXT_OF = [b"\x12%c" % length for length in range(128)]
"""What stands before a text of so many bytes: field 2, and its length in one byte (protobuf, "Encoding")."""

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode
_raw = msgspec.json.Decoder(Raw)
_object = msgspec.json.Decoder(dict[str, Raw])


class _Rest(Struct, frozen=True):
    """What a run request says besides its input, with the checks that it has in JSON."""

    user: str | None
    variant: str | None
    settings: RunSettings
    timeout: RunTimeout | None


def parse(message: Message, body: bytes) -> None:
    """Read protobuf into the message. Raises ``RunError`` (invalid_input)."""
    try:
        message.ParseFromString(body)
    except DecodeError:
        name = message.DESCRIPTOR.full_name
        raise RunError(Reason.invalid_input, f"the message is no {name} in protobuf's encoding") from None


def parse_json(message: Message, body: bytes) -> None:
    """Read ProtoJSON into the message; members that it does not know are left out, as RPC has it. Raises ``RunError``
    (invalid_json, invalid_input)."""
    given = codec.decode(_object, body, "{…}", what="message")
    name = message.DESCRIPTOR.full_name
    for field in message.DESCRIPTOR.fields:  # its library takes lists and strings for messages that hold nothing
        value = bytes(given.get(field.json_name) or given.get(field.name) or b"null")
        if field.message_type is not None and not value.startswith((b"{", b"null")):
            raise RunError(Reason.invalid_input, f"the message is no {name}: {field.json_name} is to be an object")
        if field.json_name == "inputJson" and value.startswith((b"{", b"[")):
            wanted = r'a string that holds JSON, as "{\"message\": \"hi\"}"'
            raise RunError(Reason.invalid_input, f"the message is no {name}: inputJson is to be {wanted}")
    try:
        json_format.Parse(body.decode("utf-8-sig"), message, ignore_unknown_fields=True)
    except (json_format.ParseError, RecursionError) as error:
        raise RunError(Reason.invalid_input, f"the message is no {name}: {codec.readable(error)}") from None


def run_request(message: pb.RunRequest) -> RunRequest:
    """The request without its function's name. Raises ``RunError`` (invalid_json, invalid_input)."""
    text = message.input_json.encode()
    given: dict[str, object] = {
        name: getattr(message, name) if message.HasField(name) else None for name in ("user", "variant", "timeout")
    }
    given["settings"] = {
        field.name: value for field, value in message.settings.ListFields() if message.settings.HasField(field.name)
    }
    try:
        raw = codec.decode(_raw, text, 'JSON text, as {"message": "hi"}', what="input_json")
    except RunError as error:
        if not text.strip() or text.lstrip().startswith((b"{", b"[", b'"')):
            raise
        raise RunError(error.reason, f'{error.message}; a text stands there in quotes, as "hi"') from None
    try:
        rest = msgspec.convert(given, _Rest)
    except msgspec.ValidationError as error:
        raise RunError(Reason.invalid_input, f"the request cannot be used: {codec.readable(error)}") from None
    return RunRequest(raw, rest.user, rest.variant, rest.settings, rest.timeout)


def event(event: Event) -> bytes:
    """An ``Event``, or nothing for an error, which is the call's status."""
    match event:
        case Text():
            text = event.text.encode()
            if len(text) < 128:  # nearly all are
                return _TEXT_OF[len(text)] + text
            return pb.Event(text=event.text).SerializeToString()
        case Reasoning():
            return pb.Event(reasoning=event.text).SerializeToString()
        case Started():
            return pb.Event(started=_started(event)).SerializeToString()
        case Finished():
            return pb.Event(finished=_finished(event)).SerializeToString()
        case Error():
            return b""


def llm_response(event: Event) -> bytes:
    """A piece as an ``LlmResponse``, and nothing for any other event: how the answer ends is the call's status."""
    return article_pb.LlmResponse(llm_content=event.text).SerializeToString() if isinstance(event, Text) else b""


def finished(event: Finished) -> bytes:
    return _finished(event).SerializeToString()


def functions(declared: Iterable[Function]) -> bytes:
    """A ``ListResponse``."""
    return pb.ListResponse(functions=[_function(one) for one in declared]).SerializeToString()


def _started(event: Started) -> pb.Started:
    return pb.Started(
        run_id=event.run_id,
        function=event.function,
        variant=event.variant,
        model=event.model,
        max_tokens=event.max_tokens and min(event.max_tokens, _LARGEST),
        timeout=event.timeout,
    )


def _finished(event: Finished) -> pb.Finished:
    return pb.Finished(
        run_id=event.run_id,
        output_json=None if event.output is None else bytes(event.output).decode(),
        finish_reason=event.finish_reason,
        usage=event.usage and pb.Usage(**_counts(event.usage)),
        attempts=event.attempts,
    )


def _counts(usage: Usage) -> dict[str, int]:
    """A provider may claim any number."""
    return {
        "input_tokens": min(max(usage.input_tokens, 0), _LARGEST),
        "output_tokens": min(max(usage.output_tokens, 0), _LARGEST),
    }


def _function(function: Function) -> pb.Function:
    return pb.Function(
        name=function.name,
        description=str(codec.well_formed(function.description)),
        input_schema_json=_encode(codec.well_formed(function.input_schema())).decode(),
        output_schema_json=_encode(codec.well_formed(function.output.json_schema())).decode(),
    )


# The same as ProtoJSON: names in camelCase, and what is unset or has its default may be missing.


class _StartedJson(Struct, rename="camel", omit_defaults=True, kw_only=True):
    run_id: str
    function: str
    variant: str | None = None
    model: str
    max_tokens: int | None = None
    timeout: float


class _UsageJson(Struct, rename="camel"):
    input_tokens: int
    output_tokens: int


class _FinishedJson(Struct, rename="camel", omit_defaults=True, kw_only=True):
    run_id: str
    output_json: str | None = None
    finish_reason: str
    usage: _UsageJson | None = None
    attempts: int


def event_json(event: Event) -> bytes:
    """As ``event``, in ProtoJSON."""
    match event:
        case Text():
            return b'{"text":' + _encode(event.text) + b"}"
        case Reasoning():
            return b'{"reasoning":' + _encode(event.text) + b"}"
        case Started():
            started = _StartedJson(
                run_id=event.run_id,
                function=event.function,
                variant=event.variant,
                model=event.model,
                max_tokens=event.max_tokens and min(event.max_tokens, _LARGEST),
                timeout=event.timeout,
            )
            return b'{"started":' + _encode(started) + b"}"
        case Finished():
            return b'{"finished":' + finished_json(event) + b"}"
        case Error():
            return b""


def llm_response_json(event: Event) -> bytes:
    """As ``llm_response``, in ProtoJSON."""
    return b'{"llmContent":' + _encode(event.text) + b"}" if isinstance(event, Text) else b""


def finished_json(event: Finished) -> bytes:
    return _encode(
        _FinishedJson(
            run_id=event.run_id,
            output_json=None if event.output is None else bytes(event.output).decode(),
            finish_reason=event.finish_reason,
            usage=event.usage and _UsageJson(**_counts(event.usage)),
            attempts=event.attempts,
        )
    )


def functions_json(declared: Iterable[Function]) -> bytes:
    """As ``functions``, in ProtoJSON."""
    listed = pb.ListResponse(functions=[_function(one) for one in declared])
    return json_format.MessageToJson(listed, indent=None).encode()


def details(error: Error) -> list[Message]:
    """What a failed call's status holds besides its code and message."""
    about = {"run_id": error.run_id, "partial": "true" if error.partial else "false"}
    found: list[Message] = [ErrorInfo(reason=error.reason, domain=ERROR_DOMAIN, metadata=about)]
    if error.retry_after is not UNSET:
        delay = Duration()
        delay.FromNanoseconds(round(error.retry_after * 1e9))
        found.append(RetryInfo(retry_delay=delay))
    return found


def status(error: Error) -> bytes:
    """A ``google.rpc.Status``: what gRPC carries in ``grpc-status-details-bin``."""
    message = Status(code=GRPC_STATUS[error.code], message=error.message)
    for detail in details(error):
        message.details.add().Pack(detail, deterministic=True)
    return message.SerializeToString()


class _Detail(Struct):
    type: str
    value: str
    debug: Raw


class _ConnectError(Struct):
    code: str
    message: str
    details: list[_Detail]


def connect_error(error: Error) -> bytes:
    """Connect's JSON of an error (Connect protocol, "Error end-stream" and "Unary-Response"). ``debug`` is for people:
    it says what ``value`` holds."""
    return _encode(
        _ConnectError(
            error.code,
            error.message,
            [
                _Detail(
                    detail.DESCRIPTOR.full_name,
                    base64.b64encode(detail.SerializeToString(deterministic=True)).rstrip(b"=").decode(),
                    Raw(_encode_sorted(json_format.MessageToDict(detail))),  # a map has no order of its own
                )
                for detail in details(error)
            ],
        )
    )
