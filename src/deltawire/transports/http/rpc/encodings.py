"""The two encodings of the messages, protobuf and its JSON, with the same names for the same things."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import msgspec
from google.protobuf.message import Message

from deltawire.article import stream_pb2
from deltawire.domain.events import Event, Finished
from deltawire.domain.function import Function
from deltawire.transports import protobuf


@dataclass(frozen=True, slots=True)
class Encoding:
    parse: Callable[[Message, bytes], None]
    """Fill a message. Raises ``RunError``."""
    event: Callable[[Event], bytes]
    finished: Callable[[Finished], bytes]
    functions: Callable[[Iterable[Function]], bytes]
    llm_response: Callable[[str], bytes]
    empty: bytes
    """A message that holds nothing."""


_encode = msgspec.json.Encoder().encode


def _llm_response(text: str) -> bytes:
    return stream_pb2.LlmResponse(llm_content=text).SerializeToString()


def _llm_response_json(text: str) -> bytes:
    return b'{"llmContent":' + _encode(text) + b"}"


PROTO = Encoding(
    protobuf.parse, protobuf.event, protobuf.finished, protobuf.functions, _llm_response, protobuf.NO_EVENT
)
JSON = Encoding(
    protobuf.parse_json,
    protobuf.event_json,
    protobuf.finished_json,
    protobuf.functions_json,
    _llm_response_json,
    b"{}",
)
