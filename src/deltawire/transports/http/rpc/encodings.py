"""The two encodings of the messages, protobuf and its JSON, with the same names for the same things."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from google.protobuf.message import Message

from deltawire.domain.events import Finished
from deltawire.domain.function import Function
from deltawire.transports import protobuf
from deltawire.transports.codec import Encode


@dataclass(frozen=True, slots=True)
class Encoding:
    parse: Callable[[Message, bytes], None]
    """Fill a message. Raises ``RunError``."""
    event: Encode
    llm_response: Encode
    finished: Callable[[Finished], bytes]
    functions: Callable[[Iterable[Function]], bytes]
    empty: bytes
    """A message that holds nothing."""


PROTO = Encoding(
    protobuf.parse,
    protobuf.event,
    protobuf.llm_response,
    protobuf.finished,
    protobuf.functions,
    protobuf.NO_EVENT,
)
JSON = Encoding(
    protobuf.parse_json,
    protobuf.event_json,
    protobuf.llm_response_json,
    protobuf.finished_json,
    protobuf.functions_json,
    b"{}",
)
