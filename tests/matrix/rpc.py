"""RPC as the page writes it: the bytes of messages, frames and statuses in, lines out.

What is read is put together again and must give the same bytes, so that a line stands for exactly them.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from google.protobuf import json_format
from google.protobuf.any_pb2 import Any
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from deltawire.v1 import functions_pb2 as pb

SERVICE = "/deltawire.v1.Functions/"
HEAD = 5
"""The bytes before each message: the flags, and its length."""
LEFT = -1
_DETAILS: dict[str, type[ErrorInfo | RetryInfo]] = {
    f"type.googleapis.com/{kind.DESCRIPTOR.full_name}": kind for kind in (ErrorInfo, RetryInfo)
}
_SEGMENT = re.compile(rb"[^=]+={0,2}")
_VALUE = re.compile(r'(?<="value":")[^"]*(?=")')


def run_request(as_json: str) -> pb.RunRequest:
    return json_format.Parse(as_json, pb.RunRequest())


def message(kind: type[Message], came: bytes) -> str:
    """As ProtoJSON, with every field that protobuf knows no absence of."""
    members = json_format.MessageToDict(kind.FromString(came), always_print_fields_with_no_presence=True)
    shown = json.dumps(members, ensure_ascii=False, separators=(",", ":"))
    assert _bytes(json_format.Parse(shown, kind())) == came, f"not as {shown} is encoded: {came!r}"
    return shown


def frames(came: bytes) -> Iterator[tuple[int, bytes]]:
    """The flags and the message of each frame that has come whole; then what is left, with ``LEFT``."""
    start = 0
    while (head := came[start : start + HEAD])[HEAD - 1 :]:
        end = start + HEAD + int.from_bytes(head[1:])
        if end > len(came):
            break
        yield head[0], came[start + HEAD : end]
        start = end
    yield LEFT, came[start:]


def from_base64(came: bytes) -> bytes:
    """Of one piece of base64 after another, each with its padding, what has come whole."""
    return b"".join(base64.b64decode(one[: len(one) // 4 * 4], validate=True) for one in _SEGMENT.findall(came))


def trailers(fields: Iterable[tuple[str, str | bytes]]) -> list[str]:
    """As lines; in place of the status in binary form, which must say the same, a line for each of its details."""
    fields = list(fields)
    told = dict(fields)
    lines: list[str] = []
    for name, value in fields:
        if isinstance(value, str):
            lines.append(f"{name}: {value}")
            continue
        status = Status.FromString(value)
        assert name == "grpc-status-details-bin"
        assert (str(status.code), status.message) == (told["grpc-status"], told["grpc-message"])
        assert _bytes(status) == value
        lines += map(_detail, status.details)
    return lines


def trailer(line: str) -> tuple[str, str | bytes]:
    """A line of trailers over HTTP as gRPC's libraries show it: the message is percent-encoded, what is binary is
    base64."""
    name, _, value = line.partition(": ")
    if name == "grpc-message":
        text = unquote(value, errors="strict")
        encoded = "".join(chr(one) if 0x20 <= one <= 0x7E and one != 0x25 else f"%{one:02X}" for one in text.encode())
        assert encoded == value
        return name, text
    return (name, _unpadded(value)) if name.endswith("-bin") else (name, value)


def connect_error(came: str) -> str:
    """The error as it came. Where ``value`` holds what ``debug`` says, it is left out."""
    for detail in json.loads(came).get("details", []):
        kind = _DETAILS["type.googleapis.com/" + detail["type"]]
        assert _unpadded(detail["value"]) == _bytes(json_format.ParseDict(detail["debug"], kind()))
    return _VALUE.sub("…", came)


def _detail(packed: Any) -> str:
    kind = _DETAILS[packed.type_url]
    shown = json.dumps(
        json_format.MessageToDict(kind.FromString(packed.value)),
        separators=(",", ":"),
        sort_keys=True,  # as Connect shows them
    )
    assert _bytes(json_format.Parse(shown, kind())) == packed.value
    return f"{kind.DESCRIPTOR.name} {shown}"


def _unpadded(value: str) -> bytes:
    assert "=" not in value
    return base64.b64decode(value + "=" * (-len(value) % 4), validate=True)


def _bytes(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)
