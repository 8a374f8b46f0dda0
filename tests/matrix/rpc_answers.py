"""What a caller makes of an RPC: its messages and status, in the words that the other transports have for events."""

import json
import re
from typing import Any

from deltawire.transports.status import GRPC_STATUS
from tests.matrix.reply import Reply
from tests.matrix.transports import UNARY

Event = dict[str, Any]
_CODES = {str(number): code.value for code, number in GRPC_STATUS.items()}


def rpc_events(transport: str, reply: Reply) -> list[Event]:
    found: list[Event] = []
    for line in [*reply.head.split("\n"), *reply.content.split("\n")]:
        match line.removeprefix("80 ").partition(" "):
            case ("00", _, message):
                found += _events(json.loads(message), transport)
            case ("02", _, end) if end != "{}":
                found.append(_error(json.loads(end)["error"]))
            case ("grpc-status:", _, number) if number != "0":
                found.append({"type": "error", "code": _CODES[number]})
            case ("ErrorInfo", _, info):
                found[-1]["reason"] = json.loads(info)["reason"]
            case _ if line.startswith('{"code":'):
                found.append(_error(json.loads(line)))
            case _ if line.startswith("{"):
                found += _events(json.loads(line), transport)
            case _:
                pass
    return found


def _events(message: Event, transport: str) -> list[Event]:
    """None for an event that is a sign of life."""
    if transport in UNARY:
        message = {"finished": message}
    return [
        {"type": kind, "text": said} if isinstance(said, str) else {"type": kind, **_in_our_words(said)}
        for kind, said in message.items()
    ]


def _in_our_words(members: Event) -> Event:
    told = {re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name): value for name, value in members.items()}
    if "output_json" in told:
        told["output"] = json.loads(told["output_json"])
    if "usage" in told:
        told["usage"] = _in_our_words(told["usage"])
    return told


def _error(told: Event) -> Event:
    return {"type": "error", "code": told["code"], "reason": told["details"][0]["debug"]["reason"]}
