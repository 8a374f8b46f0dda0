"""What callers do: they leave, reset, clog, stall, and send what is no call."""

from tests.matrix.notation import Call
from tests.matrix.transports import CHAT, GRPC, HTTP, RPC, WEB
from tests.upstream import Gate, Step, done, finish, head, repeat, role, silence, text, usage

from soak.play import Fault, Make, Manner, Play, Scene
from soak.provider_faults import FINISHED, words
from soak.wires import ALL, ARTICLE, BY_HTTP, HELD, NAMED, STREAMS

_CANCELED = frozenset({"canceled"})
_SHORTEST = 0.2
_TOO_LARGE = b'{"input":{"message":"' + b"x" * 1_100_000 + b'"}}'
_NO_HTTP = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    b"GET / HTTP/1.1\r\nno header\r\n\r\n",
    b"POST /v1/functions/say HTTP/1.1\r\nhost: localhost\r\ncontent-length: minus\r\n\r\n",
    b"POST /v1/functions/say HTTP/9.9\r\nhost: localhost\r\n\r\n",
)
_NO_HTTP2 = (
    b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 64,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 4, 0, 0, 0, 0, 0, 1]) + bytes(4),  # a frame for no stream
)
_NO_FRAMES = (b"\xff" * 40, b"\x83\x80" + bytes(4), b"\x81\xff" + bytes([255] * 8))


def _leaves(manner: Manner, *before: Step, resets: bool) -> Make:
    def make(scene: Scene) -> Play:
        gate = Gate()
        steps = [head(), *before, gate.wait(), silence()]
        call = Call("say", scene.prompt)
        return Play(call, _CANCELED, [steps], manner=manner, gate=gate, resets=resets)

    return make


def _leaves_before_the_head(scene: Scene) -> Play:
    gate = Gate()
    steps = [gate.wait(), silence()]
    return Play(Call("say", scene.prompt), _CANCELED, [steps], manner=Manner.leaves_when_asked, gate=gate)


def _leaves_at_the_end(scene: Scene) -> Play:
    gate = Gate()
    said = words(scene.random, 30)
    steps = [head(), text(said), gate.wait(), finish("stop"), usage(9, 2), done()]
    outcomes = FINISHED | _CANCELED
    return Play(Call("say", scene.prompt), outcomes, [steps], said, manner=Manner.leaves_at_the_end, gate=gate)


def _takes_nothing(scene: Scene) -> Play:
    flood = [head(), repeat(text("x" * 60_000))]
    return Play(Call("say", scene.prompt), _CANCELED, [flood], manner=Manner.takes_nothing)


def _body(manner: Manner, outcome: str) -> Make:
    def make(scene: Scene) -> Play:
        return Play(Call("say", scene.prompt), frozenset({outcome}), manner=manner)

    return make


def _too_late(scene: Scene) -> Play:
    """A caller's own limit is shorter than the model's silence."""
    call = Call("say", scene.prompt)
    if scene.wire in RPC:
        call.deadline = _SHORTEST
    else:
        call.members = f',"timeout":{_SHORTEST}'
    play = Play(call, frozenset({"total_timeout"}), [[head(), role(), silence()]])
    if scene.wire in GRPC:  # its clients mostly give up by themselves at that moment
        play.told, play.may_not_arrive = frozenset({"deadline_exceeded"}), True
    return play


def _too_late_after_content(scene: Scene) -> Play:
    play = _too_late(scene)
    play.said = words(scene.random, 20)
    play.scripts = [[head(), text(play.said), silence()]]
    return play


def _unknown_function(scene: Scene) -> Play:
    return Play(Call("nobody", scene.prompt), frozenset({"unknown_function"}))


def _bad_input(scene: Scene) -> Play:
    call = Call("say", scene.prompt)
    if scene.wire in CHAT:
        call.messages = scene.random.choice(("[]", '[{"role":"user"}]', '[{"role":"tool","content":"5"}]'))
    else:
        call.input = scene.random.choice(("{}", "5", '{"message":5}', '{"message":"hi","mesage":"hi"}'))
    return Play(call, frozenset({"invalid_input"}))


def _bad_body(scene: Scene) -> Play:
    call = Call("say", scene.prompt)
    if scene.wire in (*GRPC, *WEB, "connect", "article_grpc"):
        call.body = b"nonsense"
        return Play(call, frozenset({"invalid_input"}))
    call.body = b'{"type":"run"' if scene.wire == "ws" else b'{"input"'
    return Play(call, frozenset({"invalid_json"}))


def _too_large(scene: Scene) -> Play:
    call = Call("say", scene.prompt, body=_TOO_LARGE)
    if scene.wire in GRPC:  # gRPC refuses it by itself
        return Play(call, frozenset(), told=frozenset({"resource_exhausted"}))
    return Play(call, frozenset({"request_too_large"}))


def _no_call(scene: Scene) -> Play:
    call = Call("")
    if scene.wire == "grpc":
        return Play(call, frozenset(), manner=Manner.sends_bytes, sent=scene.random.choice(_NO_HTTP2))
    if scene.wire == "ws":
        return Play(call, frozenset(), manner=Manner.sends_bytes, sent=scene.random.choice(_NO_FRAMES))
    sent = scene.random.choice(_NO_HTTP)
    return Play(call, frozenset(), manner=Manner.sends_bytes, sent=sent, told=frozenset({"400", "505"}))


_CONTENT = (text("Hello"),)
_BODIES = (*BY_HTTP,)
_BAD_BODIES = (*HTTP, *RPC, "ws", "article")
_LATE = tuple(wire for wire in NAMED if wire not in ARTICLE)

CALLERS = (
    Fault("a caller leaves before the head", ALL, _leaves_before_the_head),
    Fault("a caller leaves before content", ALL, _leaves(Manner.leaves_when_asked, resets=False)),
    Fault("a caller resets before content", ALL, _leaves(Manner.leaves_when_asked, role(), resets=True)),
    Fault("a caller leaves in the hold", HELD, _leaves(Manner.leaves_when_begun, role(), resets=False)),
    Fault("a caller resets in the hold", HELD, _leaves(Manner.leaves_when_begun, role(), resets=True)),
    Fault("a caller leaves after content", ALL, _leaves(Manner.leaves_at_content, *_CONTENT, resets=False)),
    Fault("a caller resets after content", ALL, _leaves(Manner.leaves_at_content, *_CONTENT, resets=True)),
    Fault("a caller leaves as the end comes", ALL, _leaves_at_the_end, often=2),
    Fault("a caller that takes nothing", STREAMS, _takes_nothing),
    Fault("a caller leaves in its own request", _BODIES, _body(Manner.leaves_its_body, "canceled")),
    Fault("a caller stalls in its own request", _BODIES, _body(Manner.stalls_its_body, "request_timeout")),
    Fault("a deadline too short", _LATE, _too_late),
    Fault("a deadline too short for the end", _LATE, _too_late_after_content),
    Fault("an unknown function", NAMED, _unknown_function),
    Fault("bad input", NAMED, _bad_input),
    Fault("a body that cannot be read", _BAD_BODIES, _bad_body),
    Fault("a body too large", (*HTTP, *RPC, "article"), _too_large),
    Fault("bytes that are no call", ("json", "ws", "grpc"), _no_call, often=3),
)
