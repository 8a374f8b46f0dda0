"""What a caller makes of a reply: its events and its answer, whatever the wire."""

import json
import re

from tests.matrix.reply import Reply
from tests.matrix.rpc_answers import Event, rpc_events
from tests.matrix.transports import GRPC, RPC


def events(transport: str, reply: Reply) -> list[Event]:
    """The events of a transport that has them; of the others the one that they stand for."""
    if transport in RPC:
        return rpc_events(transport, reply)
    content = reply.body.decode()
    match transport:
        case "sse":
            return [_event(part) for part in _sse_parts(content)]
        case "text":
            return [{"type": "text", "text": content}]
        case _:
            return [json.loads(line) for line in content.split("\n") if line]


def answer(transport: str, reply: Reply) -> str:
    """The text of an answer that came whole."""
    assert reply.complete, f"the reply was cut: {reply}"
    assert " 200 " in reply.head or transport in ("ws", "engine", *GRPC), reply.written()
    match transport:
        case "text":
            return reply.body.decode()
        case "json":
            return json.loads(reply.body)["output"]
        case "invoke":
            return json.loads(reply.body)["text"]
        case "chat":
            return json.loads(reply.body)["choices"][0]["message"]["content"]
        case "grpc_invoke" | "connect_invoke":
            return events(transport, reply)[0]["output"]
        case "chat_stream":
            return "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks(reply))
        case _:
            return "".join(event["text"] for event in events(transport, reply) if event["type"] == "text")


def chunks(reply: Reply) -> list[Event]:
    """The chunks of a stream of OpenAI's wire, whose end marker is there."""
    *parts, end = map(_data, _sse_parts(reply.body.decode()))
    assert end == "[DONE]"
    return [json.loads(part) for part in parts]


def _sse_parts(content: str) -> list[str]:
    """As the WHATWG standard reads them: lines end in CR LF, LF or CR, and an empty one ends an event."""
    normal = re.sub("\r\n|\r", "\n", content)
    assert normal == "" or normal.endswith("\n\n"), f"the last event is not complete: {content[-80:]!r}"
    return [part for part in normal.split("\n\n") if part]


def _data(part: str) -> str:
    """Without the heartbeats that stand before it."""
    return "\n".join(line.removeprefix("data: ") for line in part.split("\n") if line != ":")


def _event(part: str) -> Event:
    name = ""
    data: list[str] = []
    for line in part.split("\n"):
        field, _, value = line.partition(":")
        match field:
            case "event":
                name = value.removeprefix(" ")
            case "data":
                data.append(value.removeprefix(" "))
            case _:
                assert field == "", f"a field that nobody knows: {line!r}"
    return {"type": name, **json.loads("\n".join(data))}
