"""What a caller makes of a run's end, whatever the transport: the one failure that it is told, or the result."""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from deltawire.domain.errors import Reason
from deltawire.transports.status import HTTP_STATUS
from tests.matrix.answers import chunks, events
from tests.matrix.notation import Call
from tests.matrix.reply import Reply
from tests.matrix.rpc_answers import Event
from tests.matrix.server import Server
from tests.matrix.stage import Matrix
from tests.matrix.transports import CHAT, OVER_HTTP, RPC, TRANSPORTS, WHOLE
from tests.upstream import Request, Step

SAY = Call("say")
SOME = ("json", "sse", "chat_stream", "grpc")
"""Where siblings of a failure are played that differ for a provider's reader alone, and for no transport."""


def everywhere(argument: str, own: Iterable[object], siblings: Iterable[object] = ()) -> pytest.MarkDecorator:
    """Parametrize: what the failure's row itself names on every transport, siblings on some."""
    played = [(transport, one) for one in own for transport in TRANSPORTS]
    played += [(transport, one) for one in siblings for transport in SOME]
    return pytest.mark.parametrize(("transport", argument), played)


async def told(
    matrix: Matrix, transport: str, *steps: Step, call: Call = SAY, server: Server | None = None
) -> tuple[Reply, Event]:
    """Play these steps as the provider's one reply; what came of it, and the one line in the log."""
    matrix.provider.script(*steps)
    reply = await matrix.caller(transport, server).call(call)
    (line,) = matrix.logged(transport, server)
    return reply, line


async def on_all_at_once(
    matrix: Matrix,
    steps: Callable[[str], Sequence[Step]],
    function: str = "say",
    *,
    transports: Sequence[str] = TRANSPORTS,
    server: Server | None = None,
) -> dict[str, Reply]:
    """The same on several transports at the same time, for failures that take their time. Each caller says the name of
    its transport, from which ``steps`` makes the provider's reply."""

    def play(request: Request) -> Sequence[Step]:
        return steps(request.json["messages"][-1]["content"])

    async def call(transport: str) -> Reply:
        called = Call(function, input=json.dumps({"message": transport}))
        return await matrix.caller(transport, server).call(called)

    matrix.provider.answer_with(play)
    replies = await asyncio.gather(*map(call, transports))
    return dict(zip(transports, replies, strict=True))


def assert_failed(transport: str, reply: Reply, reason: Reason, *, partial: bool, sent: bool | None = None) -> None:
    """The reply ends in this failure in the transport's own form, and in no sign of success beside it.

    ``sent`` says whether a stream has brought some of the content: it has, where there was any, but for typed answers
    on OpenAI's wire.
    """
    streamed = (partial if sent is None else sent) and transport not in WHOLE
    if transport in OVER_HTTP and transport not in RPC:
        assert f" {200 if streamed else HTTP_STATUS[reason]} " in reply.head, reply.written()
    if transport == "text" and streamed:
        assert not reply.complete, "a part is taken for the whole"
        return
    assert reply.complete
    if transport in RPC:
        error = _last_event(transport, reply)
        error["partial"] = '"partial":"true"' in reply.written()
        assert error["code"] == reason.code
    elif transport in ("ws", "engine") or (transport in ("sse", "ndjson") and streamed):
        error = _last_event(transport, reply)
        assert error["code"] == reason.code
    elif transport == "chat_stream" and streamed:
        *before, last = reply.content.strip().split("\n\n")
        assert not any("[DONE]" in chunk or '"finish_reason":"' in chunk for chunk in before)
        error = json.loads(last.removeprefix("data: "))["error"]
    else:
        problem = json.loads(reply.content)
        error = problem["error"] if transport in CHAT else problem
    assert (error["code" if transport in CHAT else "reason"], error["partial"]) == (reason, partial), reply.written()


def _last_event(transport: str, reply: Reply) -> Event:
    *before, last = events(transport, reply)
    assert last["type"] == "error", reply.written()
    assert not [event for event in before if event["type"] in ("error", "finished")]
    return last


def result(transport: str, reply: Reply) -> Any:
    """The value of a typed answer that came whole."""
    assert reply.complete, f"the reply was cut: {reply}"
    match transport:
        case "text" | "invoke":
            return json.loads(reply.body)
        case "chat":
            return json.loads(json.loads(reply.body)["choices"][0]["message"]["content"])
        case "chat_stream":
            return json.loads("".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks(reply)))
        case _:
            last = events(transport, reply)[-1]
            assert last["type"] == "finished", reply.written()
            return last["output"]


def finish_reason(transport: str, reply: Reply) -> str | None:
    """How the provider ended the answer, where the transport tells it."""
    match transport:
        case "chat":
            return json.loads(reply.body)["choices"][0]["finish_reason"]
        case "chat_stream":
            return chunks(reply)[-1]["choices"][0]["finish_reason"]
        case _:
            return events(transport, reply)[-1]["finish_reason"]
