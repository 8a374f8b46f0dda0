"""Callers of Connect and gRPC-Web: messages in envelopes of five bytes over HTTP/1.1."""

import json
from dataclasses import dataclass

from typing_extensions import override

from bench.load import Call
from deltawire.v1 import functions_pb2 as pb

_HEAD = 5


def envelope(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(4) + message


def envelopes(body: bytes) -> list[tuple[int, bytes]]:
    """Flags and message of each; one that is cut short at the end is not there."""
    found: list[tuple[int, bytes]] = []
    while len(body) >= _HEAD:
        end = _HEAD + int.from_bytes(body[1:_HEAD])
        if len(body) < end:
            break
        found.append((body[0], body[_HEAD:end]))
        body = body[end:]
    return found


@dataclass(frozen=True, slots=True)
class EnvelopedCall(Call):
    """An answer is whole when its last envelope is the end that says success."""

    end: tuple[int, bytes] = (0, b"")
    """Flags of the protocol's last envelope, and how it begins when all went well."""

    @override
    def answer(self, reads: list[bytes]) -> tuple[int, bytes]:
        status, body = Call.answer(self, reads)  # slots: there is no super() in a dataclass that is made anew
        flags, begin = self.end
        found = envelopes(body)
        whole = bool(found) and found[-1][0] == flags and found[-1][1].startswith(begin)
        return (status if whole or status != 200 else 0), body


def pieces_of_protobuf(body: bytes) -> list[str]:
    texts = (pb.Event.FromString(message).text for flags, message in envelopes(body) if flags == 0)
    return list(filter(None, texts))


def pieces_of_json(body: bytes) -> list[str]:
    texts = (json.loads(message).get("text", "") for flags, message in envelopes(body) if flags == 0)
    return list(filter(None, texts))
