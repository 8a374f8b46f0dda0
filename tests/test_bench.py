"""The benchmark tells a server that loses or alters tokens from one that does not, and judges by its medians."""

from bench.paced import Figure
from bench.servers import DELTAWIRE, DELTAWIRE_WS, NGINX
from bench.table import row, verdict
from bench.tokens import MARK, count_exact, token


def test_each_token_holds_one_mark() -> None:
    assert all(token(number).encode().count(MARK) == 1 for number in range(100))


def test_only_the_beginning_of_what_was_sent_counts() -> None:
    sent = [token(number) for number in range(20)]
    assert count_exact("".join(sent)) == 20
    assert count_exact("") == 0
    assert count_exact("".join(sent[:7] + sent[8:])) is None
    assert count_exact("".join([*sent, " and more"])) is None
    assert count_exact("".join(sent).replace("ï", "i")) is None


def test_the_text_is_found_in_what_each_server_sends() -> None:
    ours = b'event: started\ndata: {}\n\nevent: text\ndata: {"text":"a\\n"}\n\n:\nevent: text\ndata: {"text":"b"}\n\n'
    theirs = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"choices":[]}\n\ndata: [DONE]\n\n'
    assert DELTAWIRE.call.text_of(ours) == "a\nb"
    socket = b'{"type":"started"}\n{"type":"text","id":"1","text":"a\\n"}\n{"type":"text","id":"1","text":"b"}'
    assert DELTAWIRE_WS.call.text_of(socket) == "a\nb"
    assert NGINX.call.text_of(theirs) == "a"


def test_a_websockets_frames_are_read_as_messages_and_their_lengths_are_no_tokens() -> None:
    head = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n"
    text = b'{"type":"text","id":"1","text":"%b"}' % (b"x" * 200 + MARK)
    long = b"\x81\x7e" + len(text).to_bytes(2) + text
    end = b'\x81\x13{"type":"finished"}'
    call = DELTAWIRE_WS.call
    assert call.answer([head + long[:50], long[50:] + b"\x89\x04ping", end]) == (200, text + b'\n{"type":"finished"}')
    assert call.answer([head + long]) == (0, text)
    assert call.tokens(long) == 1


def figure(micros: float, *, far_core: float = 0.2, pace_kept: float = 1.0) -> Figure:
    return Figure(micros=micros, pace_kept=pace_kept, far_core=far_core)


def test_the_target_is_met_by_the_figure_or_by_the_ratio() -> None:
    cheap, dear = [figure(50.0)] * 3, [figure(70.0)] * 3
    assert verdict({"deltawire": cheap, "nginx": [figure(5.0)] * 3}).endswith("pass")
    assert verdict({"deltawire": dear, "nginx": [figure(20.0)] * 3}).endswith("pass")
    assert verdict({"deltawire": dear, "nginx": [figure(10.0)] * 3}).endswith("miss")
    assert verdict({"deltawire": dear}).endswith("miss")


def test_rounds_that_say_nothing_do_not_count() -> None:
    void, saturated = figure(1.0, far_core=0.95), figure(1.0, pace_kept=0.5)
    assert verdict({"deltawire": [void, void, figure(1.0)]}).endswith("miss")
    assert verdict({"deltawire": [saturated]}).endswith("miss")
    assert "1 of 2 rounds void" in row("deltawire", [void, figure(40.0)])
    assert "saturated in 1 of 1 rounds" in row("deltawire", [saturated])
    assert row("deltawire", [figure(40.0), Figure(fault="3 tokens lost")]).endswith(
        "FAILED in 1 of 2 rounds: 3 tokens lost"
    )
