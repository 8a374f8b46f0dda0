"""Callers over HTTP/1.1: what each wire asks, and whose reader reads the reply."""

import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

import msgspec
from google.protobuf.message import DecodeError
from msgspec import Raw

from deltawire.callers import failures, readers
from deltawire.callers.answer import Answer, Call, CallFailedError
from deltawire.callers.deployment import Deployment
from deltawire.callers.line import Line, Reply
from deltawire.callers.readers import Reader
from deltawire.v1 import functions_pb2 as pb

_STREAM = "/deltawire.v1.Functions/Stream"


@dataclass(frozen=True, slots=True)
class Format:
    """How a call looks on one wire."""

    path: Callable[[Call], str]
    headers: Mapping[str, str]
    body: Callable[[Call], bytes]
    reader: Callable[[], Reader]
    answers: str
    """The content type of a reply."""


class HttpCaller:
    def __init__(self, deployment: Deployment, format_: Format) -> None:
        self._line = Line(deployment)
        self._format = format_

    async def call(self, call: Call, answer: Answer) -> None:
        asked = self._format
        reply = await self._line.ask("POST", asked.path(call), asked.headers, asked.body(call), answer)
        try:
            readers.check_grpc_status(reply.headers)
            if reply.content_type != asked.answers:
                raise failures.not_ours(reply.content_type, asked.answers)
            await _read(reply, asked.reader(), answer)
        except (DecodeError, msgspec.DecodeError, RecursionError, binascii.Error):
            raise CallFailedError("not_deltawire", "its reply is not what deltawire writes on this wire") from None
        finally:
            reply.leave()

    async def close(self) -> None:
        await self._line.close()


async def _read(reply: Reply, reader: Reader, answer: Answer) -> None:
    while data := await reply.read():
        now = perf_counter()
        answer.pieces.extend([now] * reader.feed(data))
        if reader.over and not answer.ended:
            answer.ended = now
            answer.tokens = reader.tokens
    reader.end()
    answer.ended = answer.ended or perf_counter()
    answer.tokens = reader.tokens


def _function(call: Call) -> str:
    return f"/v1/functions/{call.function}"


def settings_of(call: Call) -> dict[str, object]:
    """As a member of a request in JSON, where there are any."""
    return {} if call.max_tokens is None else {"settings": {"max_tokens": call.max_tokens}}


def _run(call: Call) -> bytes:
    return msgspec.json.encode({"input": Raw(call.input), **settings_of(call)})


def _invoke(call: Call) -> bytes:
    return msgspec.json.encode({"type": call.function, "input": Raw(call.input), **settings_of(call)})


def run_message(call: Call) -> pb.RunRequest:
    settings = None if call.max_tokens is None else pb.RunSettings(max_tokens=call.max_tokens)
    return pb.RunRequest(function=call.function, input_json=call.input.decode(), settings=settings)


def _enveloped(call: Call) -> bytes:
    message = run_message(call).SerializeToString()
    return b"\0" + len(message).to_bytes(4) + message


def _plain(media: str, reader: Callable[[], Reader]) -> Format:
    return Format(_function, {"accept": media, "content-type": "application/json"}, _run, reader, media)


def _rpc(media: str, reader: Callable[[], Reader]) -> Format:
    return Format(lambda _: _STREAM, {"content-type": media}, _enveloped, reader, media)


FORMATS = {
    "sse": _plain("text/event-stream", readers.Sse),
    "ndjson": _plain("application/x-ndjson", readers.Ndjson),
    "text": _plain("text/plain", readers.Text),
    "json": _plain("application/json", readers.Whole),
    "invoke": Format(
        lambda _: "/invoke",
        {"accept": "application/json", "content-type": "application/json"},
        _invoke,
        readers.Bare,
        "application/json",
    ),
    "connect": _rpc("application/connect+proto", readers.connect),
    "grpc-web": _rpc("application/grpc-web+proto", readers.grpc_web),
}
