"""What a provider does: it answers well in every cut, and fails in every way."""

import itertools
import json
from collections.abc import Callable, Sequence
from random import Random

from tests.matrix.notation import Call
from tests.upstream import (
    FRAMINGS,
    Step,
    body,
    bytewise,
    close,
    completion,
    cut,
    delay,
    done,
    error_event,
    error_reply,
    event,
    finish,
    head,
    html_reply,
    raw,
    reasoning,
    repeat,
    reset,
    role,
    silence,
    text,
    together,
    usage,
)

from soak.play import Fault, Make, Manner, Play, Scene
from soak.wires import ALL, ARTICLE, NAMED, TYPED

_CHARACTERS = 'abcdefgh     éß日本語🙂\n\r\t\x00\x85\u2028\ufeff"\\:{}'
_END = (finish("stop"), usage(9, 2), done())
FINISHED = frozenset({"finished"})
_PLAIN = ("say", "later", "inline")


def words(random: Random, longest: int = 300) -> str:
    return "".join(random.choices(_CHARACTERS, k=random.randint(1, longest)))


def pieces(random: Random, said: str) -> list[str]:
    edges = sorted({0, len(said), *(random.randrange(len(said)) for _ in range(random.randint(0, 8)))})
    return [said[start:stop] for start, stop in itertools.pairwise(edges)]


def stream(random: Random, said: str, *, bytes_apart: bool = False) -> list[Step]:
    """A whole good stream, cut anywhere."""
    framing = random.choice(list(FRAMINGS.values()))
    steps = [framing.text(piece) for piece in pieces(random, said)]
    if random.random() < 0.3:
        steps = [cut(step, *(random.randint(1, 60) for _ in range(3))) for step in steps]
    if random.random() < 0.3:
        steps.insert(random.randrange(len(steps) + 1), reasoning("hm"))
    steps += [framing.finish("stop"), framing.usage(9, 2), framing.done()]
    if bytes_apart:
        return [head(), bytewise(*steps)]
    return [
        head(),
        *(() if random.random() < 0.5 else (role(),)),
        *([together(*steps)] if random.random() < 0.3 else steps),
    ]


def good(scene: Scene) -> Play:
    said = words(scene.random)
    function = "say" if scene.wire in ARTICLE else scene.random.choice(_PLAIN)
    return Play(Call(function, scene.prompt), FINISHED, [stream(scene.random, said)], said)


def _bytewise(scene: Scene) -> Play:
    said = words(scene.random, 12)
    return Play(Call("say", scene.prompt), FINISHED, [stream(scene.random, said, bytes_apart=True)], said)


def _slow(scene: Scene) -> Play:
    said = words(scene.random, 20)
    steps = [head()]
    for piece in pieces(scene.random, said):
        steps += [delay(scene.random.uniform(0.01, 0.1)), text(piece)]
    return Play(Call("say", scene.prompt), FINISHED, [[*steps, *_END]], said)


def _large(scene: Scene) -> Play:
    said = scene.random.choice("xé🙂") * 50_000
    return Play(Call("say", scene.prompt), FINISHED, [[head(), text(said), *_END]], said)


def _in_one_document(scene: Scene) -> Play:
    said = words(scene.random)
    return Play(Call("say", scene.prompt), FINISHED, [[completion(said)]], said)


def _read_slowly(scene: Scene) -> Play:
    said = words(scene.random, 200)
    steps = [text(piece) for piece in pieces(scene.random, said)]
    return Play(Call("say", scene.prompt), FINISHED, [[head(), *steps, *_END]], said, manner=Manner.reads_slowly)


def _fails(reason: str, *steps: Step, function: str = "say", said: str = "") -> Make:
    """Fails, mostly before there is content."""

    def make(scene: Scene) -> Play:
        return Play(Call(function, scene.prompt), frozenset({reason}), [steps], said)

    return make


def _breaks(reasons: str, end: Callable[[Random], Sequence[Step]], function: str = "say") -> Make:
    """Fails after content, of which callers who stream may have got any part."""

    def make(scene: Scene) -> Play:
        said = words(scene.random, 80)
        steps = [text(piece) for piece in pieces(scene.random, said)]
        return Play(
            Call(function, scene.prompt), frozenset(reasons.split()), [[head(), *steps, *end(scene.random)]], said
        )

    return make


def _no_end(*steps: Step) -> Callable[[Random], Sequence[Step]]:
    return lambda _: steps


def _cut_in_the_head(scene: Scene) -> Play:
    whole = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    steps = [raw(whole[: scene.random.randint(20, len(whole) - 4)]), scene.random.choice((close, reset))()]
    return Play(Call("say", scene.prompt), frozenset({"outcome_unknown", "upstream_invalid"}), [steps])


def _cut_in_an_event(random: Random) -> Sequence[Step]:
    return body(b'data: {"choices":[{"index":0,"delta":{"content":"\xe5\xa5'), random.choice((close, reset))()


def _unreachable(function: str, *outcomes: str) -> Make:
    def make(scene: Scene) -> Play:
        return Play(Call(function, scene.prompt), frozenset(outcomes))

    return make


def _retried(scene: Scene) -> Play:
    said = words(scene.random)
    busy = [error_reply(503, "busy", headers={"retry-after-ms": "20"})]
    return Play(Call("patient", scene.prompt), FINISHED, [busy, stream(scene.random, said)], said)


def _falls_back(scene: Scene) -> Play:
    said = words(scene.random)
    first = scene.random.choice(([error_reply(500)], [close()], [html_reply(502)], [head(), event("nonsense")]))
    models = {"first": first, "second": stream(scene.random, said)}
    return Play(Call("spare", scene.prompt), FINISHED, of_models=models, said=said)


def _hedged(scene: Scene) -> Play:
    said = words(scene.random)
    models = {"first": [head(), silence()], "second": stream(scene.random, said)}
    return Play(Call("eager", scene.prompt), FINISHED, of_models=models, said=said)


def _split(scene: Scene) -> Play:
    said = words(scene.random)
    return Play(Call("split", scene.prompt), FINISHED, [stream(scene.random, said)], said)


def _typed(scene: Scene) -> Play:
    value = {"items": [words(scene.random, 20) for _ in range(scene.random.randint(0, 5))]}
    said = json.dumps(value, ensure_ascii=scene.random.random() < 0.5)
    return Play(Call("items", scene.prompt), FINISHED, [stream(scene.random, said)], said, output=value)


def _mended(scene: Scene) -> Play:
    value = {"items": ["kettle"]}
    wrong = [head(), text("Kettle."), *_END]
    said = json.dumps(value)
    return Play(Call("mended", scene.prompt), FINISHED, [wrong, stream(scene.random, said)], said, output=value)


def _ailing(scene: Scene) -> Play:
    """The model is ill or well for all runs of a time; a breaker may keep each of them from it."""
    return Play(
        Call("ailing", scene.prompt), frozenset({"upstream_error", "upstream_unreachable"}), [[error_reply(500)]]
    )


def _recovering(scene: Scene) -> Play:
    said = words(scene.random)
    outcomes = frozenset({"finished", "upstream_unreachable"})
    return Play(Call("ailing", scene.prompt), outcomes, [stream(scene.random, said)], said)


_STREAMED = tuple(wire for wire in TYPED if wire not in ("json", "invoke", "grpc_invoke", "connect_invoke"))
_WHOLE_TYPED = tuple(wire for wire in TYPED if wire not in _STREAMED)

PROVIDERS = (
    Fault("a good answer, cut anywhere", ALL, good, often=8),
    Fault("a good answer byte by byte", ALL, _bytewise),
    Fault("a good answer that comes slowly", ALL, _slow),
    Fault("a large event", ALL, _large),
    Fault("an answer in one document", ALL, _in_one_document),
    Fault("a caller that reads slowly", ("sse", "ndjson", "text", "connect", "grpc_web"), _read_slowly),
    Fault("the provider refuses the connection", NAMED, _unreachable("refused", "upstream_unreachable")),
    Fault("no connection in time", NAMED, _unreachable("deaf", "connect_timeout", "upstream_unreachable")),
    Fault("401", ALL, _fails("upstream_auth", error_reply(401))),
    Fault("429 with retry-after", ALL, _fails("upstream_rate_limited", error_reply(429, headers={"retry-after": "7"}))),
    Fault("400", ALL, _fails("upstream_rejected", error_reply(400))),
    Fault("500", ALL, _fails("upstream_error", error_reply(500))),
    Fault("502 in HTML", ALL, _fails("upstream_error", html_reply(502))),
    Fault("HTML with 200", ALL, _fails("upstream_invalid", html_reply(200))),
    Fault("no HTTP", ALL, _fails("upstream_invalid", raw(b"SMTP ready\r\n\r\n"), close())),
    Fault("closed before the head", ALL, _fails("outcome_unknown", close())),
    Fault("reset before the head", ALL, _fails("outcome_unknown", reset())),
    Fault("cut in the head", ALL, _cut_in_the_head),
    Fault("cut after the head", ALL, _fails("upstream_truncated", head(), close())),
    Fault("closed after content", ALL, _breaks("upstream_truncated", _no_end(close()))),
    Fault("reset after content", ALL, _breaks("upstream_truncated", _no_end(reset()))),
    Fault("cut in the middle of a character", ALL, _breaks("upstream_truncated", _cut_in_an_event)),
    Fault("ended without an end", ALL, _breaks("upstream_truncated", _no_end())),
    Fault(
        "a malformed chunk",
        ALL,
        _breaks("upstream_truncated upstream_invalid", _no_end(raw(b"zz\r\nnonsense\r\n"), silence())),
    ),
    Fault("a nonsense event", ALL, _breaks("upstream_invalid", _no_end(event("nonsense"), silence()))),
    Fault("a nonsense event first", ALL, _fails("upstream_invalid", head(), event("nonsense"), silence())),
    Fault(
        "an error event", ALL, _breaks("upstream_error", _no_end(error_event("it broke", code="server_error"), done()))
    ),
    Fault(
        "an event without end", ALL, _breaks("upstream_invalid", _no_end(body(b"data: "), repeat(body(b"x" * 65536))))
    ),
    Fault("silence before content", NAMED, _fails("first_token_timeout", head(), role(), silence(), function="silent")),
    Fault("silence before the head", NAMED, _fails("first_token_timeout", silence(), function="silent")),
    Fault("silence after content", NAMED, _breaks("idle_timeout", _no_end(silence()), "faltering")),
    Fault("no time for the whole run", NAMED, _breaks("total_timeout", _no_end(silence()), "brief")),
    Fault("busy, then good", NAMED, _retried),
    Fault("a fallback answers", NAMED, _falls_back),
    Fault("a second attempt beside a silent one", NAMED, _hedged),
    Fault("variants", NAMED, _split),
    Fault("a typed answer", TYPED, _typed),
    Fault(
        "a typed answer that is none",
        TYPED,
        _fails("output_invalid", head(), text("Kettle."), *_END, function="items", said="Kettle."),
    ),
    Fault("a typed answer that is repaired", _WHOLE_TYPED, _mended),
)

ILL = Fault("an ill model, and its breaker", NAMED, _ailing, often=4)
WELL = Fault("a model that is well again", NAMED, _recovering, often=2)
"""Played round by round in turns."""
