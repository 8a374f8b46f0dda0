"""What a caller saw, whatever the wire: its terminal events, its text, whether it was cut."""

import json
from typing import Any

from tests.matrix.answers import events
from tests.matrix.reply import Reply
from tests.matrix.transports import RPC

from soak.play import Seen

Event = dict[str, Any]


def seen_in_http(wire: str, reply: Reply) -> Seen:
    """Of a reply over HTTP/1.1."""
    seen = Seen(run_id=reply.run_id, cut=not reply.complete, raw=reply.written())
    if "\ncontent-type: application/problem+json\n" in reply.head:
        seen.ends = [json.loads(reply.body)["reason"]]
    elif wire in RPC:
        _add_events(seen, events(wire, reply))
    elif " 200 " not in reply.head:
        seen.ends = [json.loads(reply.body)["error"]["code"]] if reply.body else []
    elif reply.complete or wire not in ("json", "invoke", "chat"):
        _SEEN[wire](seen, reply)
    return seen


def seen_in_events(came: list[Event], raw: str = "") -> Seen:
    """Of the messages of a WebSocket, or of a call over gRPC."""
    seen = Seen(raw=raw)
    _add_events(seen, came)
    return seen


def seen_in_article(text: str, seen: Seen) -> None:
    """Server-sent events of raw text; of a stream that is cut, those that are whole."""
    *parts, rest = text.split("\n\n")
    seen.cut = seen.cut or bool(rest)
    for part in parts:
        lines = [line for line in part.split("\n") if line != ":"]
        match lines:
            case ["event: end", "data: "]:
                seen.ends.append("finished")
            case ["event: error", data]:
                seen.ends.append(json.loads(data.removeprefix("data: "))["reason"])
            case []:
                pass
            case _:
                assert all(line.startswith("data: ") for line in lines), f"no piece: {part!r}"
                seen.text += "\n".join(line.removeprefix("data: ") for line in lines)


def _sse(seen: Seen, reply: Reply) -> None:
    whole = reply.body.rpartition(b"\n\n")
    seen.cut = seen.cut or bool(whole[2].strip(b":\n"))
    _add_events(seen, events("sse", Reply(reply.head, _without_beats(whole[0] + whole[1]), complete=True)))


def _ndjson(seen: Seen, reply: Reply) -> None:
    lines, _, rest = reply.body.rpartition(b"\n")
    seen.cut = seen.cut or bool(rest)
    _add_events(seen, [json.loads(line) for line in lines.split(b"\n") if line])


def _text(seen: Seen, reply: Reply) -> None:
    seen.text = reply.body.decode(errors="ignore" if seen.cut else "strict")
    seen.ends = [] if seen.cut else ["finished"]


def _json(seen: Seen, reply: Reply) -> None:
    event = json.loads(reply.body)
    seen.ends = [event["type"]]
    _take_output(seen, event["output"])


def _invoke(seen: Seen, reply: Reply) -> None:
    answer = json.loads(reply.body)
    seen.ends = ["finished"]
    _take_output(seen, answer["text"] if list(answer) == ["text"] else answer)


def _chat(seen: Seen, reply: Reply) -> None:
    seen.ends = ["finished"]
    seen.text = json.loads(reply.body)["choices"][0]["message"]["content"]


def _chat_stream(seen: Seen, reply: Reply) -> None:
    for line in reply.body.decode(errors="ignore" if seen.cut else "strict").split("\n"):
        data = line.removeprefix("data: ")
        if data == line:
            assert line in ("", ":"), f"no event: {line!r}"
        elif data == "[DONE]":
            seen.ends.append("finished")
        else:
            chunk = json.loads(data)
            if "error" in chunk:
                seen.ends.append(chunk["error"]["code"])
            for choice in chunk.get("choices", []):
                seen.text += choice["delta"].get("content", "")


def _article(seen: Seen, reply: Reply) -> None:
    seen_in_article(_without_beats(reply.body).decode(errors="ignore" if seen.cut else "strict"), seen)


_SEEN = {
    "sse": _sse,
    "ndjson": _ndjson,
    "text": _text,
    "json": _json,
    "invoke": _invoke,
    "chat": _chat,
    "chat_stream": _chat_stream,
    "article": _article,
}


def _add_events(seen: Seen, came: list[Event]) -> None:
    for event in came:
        seen.run_id = event.get("run_id") or seen.run_id
        match event["type"]:
            case "text":
                seen.text += event["text"]
            case "finished":
                seen.ends.append("finished")
                _take_output(seen, event.get("output"))
            case "error":
                seen.ends.append(event.get("reason") or event["code"])
            case _:
                pass


def _take_output(seen: Seen, output: object) -> None:
    """The answer of a text function in one piece is its text."""
    if isinstance(output, str):
        seen.text += output
    else:
        seen.output = output


def _without_beats(body: bytes) -> bytes:
    """Comment lines, which stand between events."""
    return b"\n".join(line for line in body.split(b"\n") if line != b":")
