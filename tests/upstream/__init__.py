"""An upstream that plays what a test scripts, byte by byte, on a real socket, and remembers what it saw.

In flow the requests of the code under test; out flow the bytes, pauses, cuts and resets of the script, in its order.

    gate = Gate()
    async with Upstream() as upstream:
        upstream.script(head(), text("a"), gate.wait(), text("b"), finish("stop"), done())
        ...                                       # the code under test calls upstream.base_url
        exchange = await upstream.requested()     # the request has arrived whole
        assert exchange.request.json["stream"]
        await gate.reached()                      # "a" has left our hands, "b" has not
        gate.open()
        await exchange.client_left()              # AssertionError when the client stays
        await upstream.all_played()               # for a test that cares that scripts came to their end

What answers a request, first match wins:

- ``upstream.script(*steps)`` queues a script for one request; scripts are used in the order in which they were queued.
- ``upstream.answer_with(function)`` makes the steps from the request (``None`` passes it on).
- ``upstream.always(*steps)`` answers everything else.
- Nothing: the upstream replies 500, and leaving ``async with`` raises: an unexpected call is a failure.

Steps (``script.py``), each written with a send of its own:

=====================  ================================================================================================
``head(200, …)``       status line and headers; chunked unless ``length=`` or ``until_close=True``
``body(b"…")``         body bytes, framed as the head promised: one chunk a step
``raw(b"…")``          bytes exactly as they are: half a chunk, a second reply, no HTTP at all
``end()``              the end of the body; comes by itself after the last step (but not after the four below)
``close()``            a clean close (FIN) where the script stands
``reset()``            a reset (RST) where the script stands
``silence()``          nothing more, and the connection stays open
``gate.wait()``        waits until the test opens the gate
``delay(0.2)``         waits on the clock: only for tests whose subject is time
``repeat(step, n)``    the step n times; without n until the client leaves
``bytewise(*steps)``   the same bytes, one byte a send, chunk frames included
``together(*steps)``   the same bytes in one send, so that one network read brings them all
``cut(step, 3, 7)``    a body step in pieces, cut at those offsets, a send each
``reply(404, b"…")``   a whole reply with its content length
=====================  ================================================================================================

What an OpenAI-compatible server says is in ``openai.py``: ``text("…")``, ``reasoning``, ``role``, ``refusal``,
``finish``, ``usage``, ``done``, ``error_event``, ``comment`` and ``event`` for streams (also as methods of what is in
``FRAMINGS``), ``answer("Hel", "lo")`` for a whole good stream; ``completion``, ``error_reply`` and ``html_reply`` for
whole replies.

Faults of connections rather than of replies: ``upstream.drop_next_reuse()``, ``await upstream.close_idle()``, and in
``ports.py`` ``refused_port()`` and ``never_accepting_port()``.
"""

from tests.upstream.exchange import Exchange
from tests.upstream.openai import (
    FRAMINGS,
    ChatStream,
    answer,
    comment,
    completion,
    done,
    error_event,
    error_reply,
    event,
    finish,
    html_reply,
    reasoning,
    refusal,
    role,
    text,
    usage,
)
from tests.upstream.ports import never_accepting_port, refused_port
from tests.upstream.request import Request
from tests.upstream.script import (
    Gate,
    Step,
    body,
    bytewise,
    close,
    cut,
    delay,
    end,
    head,
    raw,
    repeat,
    reply,
    reset,
    silence,
    together,
)
from tests.upstream.server import Upstream

__all__ = [
    "FRAMINGS",
    "ChatStream",
    "Exchange",
    "Gate",
    "Request",
    "Step",
    "Upstream",
    "answer",
    "body",
    "bytewise",
    "close",
    "comment",
    "completion",
    "cut",
    "delay",
    "done",
    "end",
    "error_event",
    "error_reply",
    "event",
    "finish",
    "head",
    "html_reply",
    "never_accepting_port",
    "raw",
    "reasoning",
    "refusal",
    "refused_port",
    "repeat",
    "reply",
    "reset",
    "role",
    "silence",
    "text",
    "together",
    "usage",
]
