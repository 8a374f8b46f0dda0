"""Any body to all that read a caller's request: a request, or a ``RunError`` that is the caller's fault."""

from collections.abc import Callable

from google.protobuf.message import Message

from deltawire.domain.errors import RunError
from deltawire.transports import codec, protobuf
from deltawire.transports.http import websocket_messages
from deltawire.transports.http.chat_request import chat_request
from deltawire.transports.status import HTTP_STATUS
from deltawire.v1 import functions_pb2 as pb
from tests.fuzz.target import Target

LONGEST_MESSAGE = 1000


def check(given: bytes) -> None:
    for read in (codec.run_request, codec.invoke_request, chat_request, _message_of_a_socket, _rpc_json, _rpc):
        _read(read, given)


def _read(read: Callable[[bytes], object], body: bytes) -> None:
    try:
        read(body)
    except RunError as error:
        if not 400 <= HTTP_STATUS[error.reason] < 500 or len(error.message.encode()) > LONGEST_MESSAGE:
            raise


def _message_of_a_socket(body: bytes) -> None:
    try:
        websocket_messages.read(body)
    except RunError as error:
        websocket_messages.id_in(body, error)
        raise


def _rpc_json(body: bytes) -> None:
    _run(protobuf.parse_json, body)


def _rpc(body: bytes) -> None:
    _run(protobuf.parse, body)


def _run(parse: Callable[[Message, bytes], None], body: bytes) -> None:
    message = pb.RunRequest()
    parse(message, body)
    protobuf.run_request(message)


TARGET = Target(
    check,
    (
        b'{"input": {"a": 1}, "user": "u", "settings": {"max_tokens": 1, "temperature": 0.5, "seed": 3}, "timeout": 2}',
        b'{"type": "run", "id": "1", "function": "f", "input": "\\ud83d"}',
        b'{"type": "cancel", "id": "1"}',
        b'{"model": "f", "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}], "n": 1}',
        b'{"inputJson": "{}", "settings": {"maxTokens": 1, "seed": "7"}, "timeout": 1e3}',
        pb.RunRequest(function="f", input_json="[]", user="u", timeout=1).SerializeToString(),
    ),
    (
        *(b'"input":', b'"inputJson":"', b'"input_json":', b'"type":"', b'"user":', b'"settings":{', b'"max_tokens":'),
        *(b'"maxTokens":', b'"temperature":', b'"seed":', b'"timeout":', b'"variant":', b'"messages":[', b'"role":"'),
        *(b'"NaN"', b"Infinity", b"1e400", b"\\ud83d", b"null", b"\xef\xbb\xbf", b"99999999999999999999"),
    ),
)
