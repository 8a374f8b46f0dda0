"""Any bytes, in any cut, to a provider's ``Reply``: the same pieces and the same end, and never an exception.

Bytes that are no ASCII stand for words of the wire, so that much of what comes is JSON of almost the right shape.
"""

from typing import NamedTuple

from deltawire.domain.events import Piece, Reasoning, Refusal, Text
from deltawire.domain.ports import Completion
from deltawire.providers.openai.reply import Foreign, Reply
from tests.fuzz.target import Target, cut, uncut

LARGE, SMALL = 1 << 20, 64
SECRET = "k3y"
FOREIGN = Foreign("house", (SECRET,))

WORDS = (
    *(b'data: {"choices":[{"delta":{"content":"', b'"}}]}\n\n', b"data: [DONE]\n\n", b"data: ", b"\n\n", b"\r\n"),
    *(b'"choices":[', b'"delta":{', b'"message":{', b'"content":', b'"reasoning":', b'"reasoning_content":'),
    *(b'"refusal":', b'"finish_reason":', b'"stop"', b'"length"', b'"content_filter"', b'"tool_calls"', b'"index":'),
    *(b'"usage":{"prompt_tokens":', b'"completion_tokens":', b'"error":', b'"code":', b'"message":', b'"type":'),
    *(b'"text":', b'"thinking":', b'"detail":', b'"object":', b'"innererror":', b'"content_filter_result":'),
    *(b'"filtered":true', b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"9" * 19, b"9" * 40, b"-1", b"0.0"),
    *(b"\\ud83d", b"\\ude42", b"\\u0000", "🙂é\u2028".encode(), b"\xf0\x9f", b"\xff", b"[" * 1200, b'{"a":' * 1200),
    *(b"9" * 4301, b"k3y", b"<html>", b"}]}", b"}}", b"[{", b'"",', b"x" * 70, b"a" * 70_000, b"\xef\xbb\xbf"),
)


LONG_WORDS = [128 + place for place, word in enumerate(WORDS) if len(word) > 1000]
"""As they are spelled: nesting, and numbers, that no decoder holds."""


class Heard(NamedTuple):
    said: list[tuple[type[Piece], str]]
    """Adjacent pieces of a kind as one: where they are cut is the network's affair."""
    end: tuple[str, str] | Completion
    usage: object


def check(given: bytes) -> None:
    head = 1 + (given[0] & 7) if given else 0
    stream, ways = cut(given[:head] + spelled(given[head:]))
    typed = bool(given) and given[0] >= 128
    heard = [_stream(parts, LARGE, typed=typed) for parts in ways]
    assert all(each == heard[0] for each in heard), heard
    for parts in ways[:2]:
        _stream(parts, SMALL, typed=typed)
    whole = Reply(FOREIGN, LARGE, typed=typed)
    _heard(whole, whole.read_whole(stream))


def spelled(given: bytes) -> bytes:
    return b"".join(WORDS[(byte - 128) % len(WORDS)] if byte >= 128 else bytes([byte]) for byte in given)


def _stream(parts: list[bytes], limit: int, *, typed: bool) -> Heard:
    """As ``ChatCompletions`` asks: until it is done, and the end is a read without bytes."""
    reply = Reply(FOREIGN, limit, typed=typed)
    pieces: list[Piece] = []
    for part in [*parts, b""]:
        if reply.done:
            break
        pieces += reply.read(part)
    return _heard(reply, pieces)


def _heard(reply: Reply, pieces: list[Piece]) -> Heard:
    assert reply.done
    said: list[tuple[type[Piece], str]] = []
    for piece in pieces:
        assert type(piece) in (Text, Reasoning, Refusal)
        assert 0 < len(piece.text.encode()) <= 64 * 1024  # encode: no half of a character is among them
        if said and said[-1][0] is type(piece):
            said[-1] = (said[-1][0], said[-1][1] + piece.text)
        else:
            said.append((type(piece), piece.text))
    if reply.failure is None:
        return Heard(said, reply.completion(), reply.usage)
    assert SECRET not in reply.failure.message
    reply.failure.message.encode()
    return Heard(said, (reply.failure.reason, reply.failure.message), reply.usage)


TARGET = Target(
    check,
    (
        *uncut(
            b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"choices":[{"finish_reason":"stop"}]}\n\n',
            b"".join(b'data: {"choices":[{"delta":{"content":"%b"}}]}\n\n' % text for text in (b"a", b"b", b'\\"')),
            b'data: {"error":{"code":"x","message":"m"}}\n\n',
            b'data: {"choices":[{"index":"0","delta":{"content":[{"type":"text","text":"a"}]}}],"usage":{}}',
            b"".join(b'data: {"choices":[{"delta":{"content":"\\u%b"}}]}\n\n' % half for half in (b"d83d", b"de42")),
            b'{"choices":[{"message":{"content":"a","refusal":"no"},"finish_reason":"stop"}]}',
        ),
        bytes((0, 128, 97, 129, 128, 98, 129, 130)),
        *(b"\0data: {%b%c\n\n" % (member, word) for member in (b'"error":', b'"usage":') for word in LONG_WORDS),
    ),
    (b'{"', b'":', b'"}', b"[DONE]", *(bytes([128 + at]) for at in range(len(WORDS)))),
)
