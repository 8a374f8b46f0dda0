"""``deltawire run``: the answer on stdout as it comes, everything else on stderr, and the exit codes."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.cli.apps import shop
from tests.cli.command import Ended, calling, deltawire, ending, in_terminal, started
from tests.upstream import (
    Gate,
    Upstream,
    answer,
    bytewise,
    done,
    error_reply,
    finish,
    head,
    reasoning,
    silence,
    text,
    together,
    usage,
)
from tests.upstream.ports import refused_port

pytestmark = pytest.mark.anyio

AWKWARD = "line1\nline2\r\n\u2028 data: x None \x00\x1b[31m🙂"


async def run(upstream: Upstream, folder: Path, *arguments: str, stdin: bytes | None = None) -> Ended:
    env = calling(upstream) | {"DELTAWIRE_APP": str(shop(folder))}
    return await deltawire("run", *arguments, env=env, cwd=folder, stdin=stdin)


async def test_text_goes_to_a_pipe_exactly_and_the_last_line_of_stderr_tells_of_the_run(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.script(bytewise(answer(*AWKWARD)))
        ended = await run(upstream, tmp_path, "chat", "--message", "Hi")
    assert ended.code == 0
    assert ended.out == AWKWARD.encode()
    assert ended.complaint.startswith("openai:m · 9 tokens in, 2 out · ")


async def test_each_piece_is_out_before_the_next_one_comes(tmp_path: Path) -> None:
    gate = Gate()
    async with Upstream() as upstream:
        upstream.script(head(), text("a"), gate.wait(), text("b"), finish(), done())
        env = calling(upstream)
        process = await started("run", "--app", str(shop(tmp_path)), "chat", "Hi", env=env, cwd=tmp_path)
        async with ending(process):
            assert process.stdout is not None
            assert await process.stdout.read(1) == b"a"
            gate.open()
            assert await process.stdout.read() == b"b"


async def test_a_typed_function_prints_its_validated_output_and_numbers_stay_exact(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.script(answer('Sure: {"items": ["a"], ', '"total": "1.10000000000000000000001"}'))
        ended = await run(upstream, tmp_path, "extract_items", "a kettle")
    assert ended.out == b'{"items":["a"],"total":"1.10000000000000000000001"}\n'


async def test_events_are_lines_of_json(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.script(head(), reasoning("hm"), text("a"), finish(), usage(9, 2), done())
        ended = await run(upstream, tmp_path, "chat", "Hi", "--events")
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert [event["type"] for event in events] == ["started", "reasoning", "text", "finished"]
    assert ended.err == ""


async def test_reasoning_is_no_part_of_what_is_piped(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.script(head(), reasoning("hm"), text("a"), finish(), done())
        ended = await run(upstream, tmp_path, "chat", "Hi")
    assert ended.out == b"a"
    assert "hm" not in ended.err


async def test_flags_before_and_after_the_name_and_a_bare_text_anywhere(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.always(answer("x"))
        for arguments in (
            ["--model", "openai:other", "chat", "Hi there"],
            ["chat", "--model", "openai:other", "Hi there"],
            ["chat", "Hi there", "--model=openai:other"],
            ["chat", "--model=openai:other", "--", "Hi there"],
            ["--json", '{"message": "Hi there"}', "chat", "--model", "openai:other"],
        ):
            assert (await run(upstream, tmp_path, *arguments)).code == 0, arguments
        for request in upstream.requests:
            assert request.json["model"] == "other"
            assert request.json["messages"] == [{"role": "user", "content": "Hi there"}]


async def test_stdin_is_the_bare_text_or_the_input_as_json(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.always(answer("x"))
        await run(upstream, tmp_path, "chat", "-", stdin="Grüße\n".encode())
        await run(upstream, tmp_path, "chat", "--json", "-", stdin=b'{"message": "Hi"}')
        assert [request.json["messages"][0]["content"] for request in upstream.requests] == ["Grüße\n", "Hi"]
        ended = await run(upstream, tmp_path, "chat", "-", stdin=b"\xff")
        assert (ended.code, ended.complaint) == (2, "deltawire: what came on stdin is not UTF-8")


async def test_a_text_that_looks_like_a_flag_comes_after_two_dashes(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.always(answer("x"))
        await run(upstream, tmp_path, "chat", "--", "--message")
        await run(upstream, tmp_path, "chat", "-1 is negative")
        await run(upstream, tmp_path, "chat", "--message=--app")
        contents = [request.json["messages"][0]["content"] for request in upstream.requests]
        assert contents == ["--message", "-1 is negative", "--app"]


async def test_a_functions_help_shows_its_own_flags(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        ended = await run(upstream, tmp_path, "everything", "--help")
    assert ended.code == 0
    shown = ended.out.decode()
    assert "usage: deltawire run everything [FLAGS] [TEXT]\n\nTell what arrived, for 100 % of the types.\n" in shown
    assert "  --count VALUE   int (default: 1)\n" in shown
    assert "  --[no-]loud     bool (default: false)\n" in shown
    assert "  --day VALUE     date | None\n" in shown
    assert "  --tags ITEM     list[str] (default: []); may be repeated\n" in shown
    assert "  --tone VALUE    Tone (default: warm)\n" in shown


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["cht"], "no function named 'cht'; known: 'chat'"),
        (["chat"], "invalid_input: input.message: Field required; see deltawire run chat --help"),
        (["chat", "a", "b"], "unrecognized arguments: b; see deltawire run chat --help"),
        (["chat", "a", "--message", "b"], "message is given twice: with its flag and without"),
        (["chat", "--json", "{"], "the input is not JSON: Input data was truncated"),
        (["chat", "--json", "{}", "a"], "--json is the whole input: leave the other parameters out"),
        (["chat", "--mess", "a"], "unrecognized arguments: --mess; see deltawire run chat --help"),
        (
            ["chat", "--message", "--x"],
            "argument --message: expected one argument (one that begins with a dash is written --message=…); "
            "see deltawire run chat --help",
        ),
        (
            ["everything", "a", "--count", "x"],
            "invalid_input: input.count: Input should be a valid integer, unable to parse string as an integer; "
            "see deltawire run everything --help",
        ),
        ([], "Missing argument 'NAME'."),
    ],
)
async def test_what_is_asked_wrongly_is_one_line_and_exit_code_2(
    tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    async with Upstream() as upstream:
        ended = await run(upstream, tmp_path, *arguments)
        assert upstream.requests == []
    assert (ended.code, ended.out, ended.complaint) == (2, b"", f"deltawire: {complaint}")


async def test_a_failed_run_is_one_line_with_its_reason_and_exit_code_1(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.script(error_reply(401))
        ended = await run(upstream, tmp_path, "chat", "Hi")
        assert ended.code == 1
        assert ended.complaint.startswith("deltawire: upstream_auth: ")
        upstream.script(head(), text("a"))  # and then the end of the body
        ended = await run(upstream, tmp_path, "chat", "Hi")
        assert (ended.code, ended.out) == (1, b"a")
        assert ended.complaint.startswith("deltawire: upstream_truncated: ")


async def test_another_functions_missing_key_does_not_matter(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.script(answer("x"))
        env = calling(upstream) | {"DELTAWIRE_APP": str(shop(tmp_path))}
        env |= {"DELTAWIRE_FUNCTIONS__CHAT__MODEL": "other:m", "DELTAWIRE_PROVIDERS__OTHER__API_KEY": "env:NOTHING"}
        ended = await deltawire("run", "everything", "x", env=env, cwd=tmp_path)
        assert ended.code == 0
        ended = await deltawire("run", "chat", "x", env=env, cwd=tmp_path)
        assert (ended.code, "NOTHING, which is not set" in ended.complaint) == (2, True)


async def test_a_failure_of_the_functions_own_code_names_its_line(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        ended = await run(upstream, tmp_path, "broken", "x")
    file = tmp_path / "shop.py"
    line = file.read_text().splitlines().index('    raise KeyError("of its own")') + 1
    assert ended.code == 1
    assert ended.complaint == f"deltawire: internal: {file}:{line}: KeyError: 'of its own'"


async def test_ctrl_c_closes_the_upstream_and_exits_with_130(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.script(head(), text("a"), silence())
        env = calling(upstream)
        process = await started("run", "--app", str(shop(tmp_path)), "chat", "Hi", env=env, cwd=tmp_path)
        async with ending(process):
            assert process.stdout is not None
            assert await process.stdout.read(1) == b"a"
            process.send_signal(signal.SIGINT)
            await (await upstream.requested()).client_left()
            out, err = await process.communicate()
            assert (process.returncode, out, err) == (130, b"", b"")


async def test_ctrl_c_ends_a_function_that_blocks(tmp_path: Path) -> None:
    process = await started(
        *("run", "--app", str(shop(tmp_path)), "blocked", "x"), env={"DELTAWIRE_MODEL": "local:smollm2"}, cwd=tmp_path
    )
    async with ending(process):
        assert process.stdout is not None
        assert await process.stdout.readline() == b"blocked\n"
        process.send_signal(signal.SIGINT)
        assert (await process.communicate(), process.returncode) == ((b"", b""), 130)


@pytest.mark.skipif(sys.platform == "win32", reason="there a closed pipe is another error")
async def test_a_reader_that_leaves_ends_the_run_quietly(tmp_path: Path) -> None:
    gate = Gate()
    reader, writer = os.pipe()
    async with Upstream() as upstream:
        upstream.script(head(), text("a"), gate.wait(), text("b"), silence())
        process = await started(
            *("run", "--app", str(shop(tmp_path)), "chat", "Hi"), env=calling(upstream), cwd=tmp_path, stdout=writer
        )
        os.close(writer)
        async with ending(process):
            assert await asyncio.to_thread(os.read, reader, 1) == b"a"
            os.close(reader)
            gate.open()
            await (await upstream.requested()).client_left()
            assert (await process.communicate(), process.returncode) == ((None, b""), 141)


async def test_a_terminal_gets_no_control_characters_and_a_last_line_of_its_own(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.script(
            head(), reasoning("h\x1bm"), text("a\x1b[2J\x9b\tb\n🙂\x7f\u202ec"), finish(), usage(9, 2), done()
        )
        env = calling(upstream)
        async with in_terminal("run", "--app", str(shop(tmp_path)), "chat", "Hi", env=env, cwd=tmp_path) as terminal:
            shown = await terminal.until(None)
    thought, found, last = shown.partition("a\u241b[2J\ufffd\tb\n🙂\u2421\u202ec\n")
    assert thought == "\x1b[2mh\u241bm\x1b[0m\x1b[2m\n\n\x1b[0m"
    assert found
    assert last.startswith("\x1b[2mopenai:m · 9 tokens in, 2 out · ")


async def test_a_terminal_gets_typed_output_indented_and_an_error_of_the_upstream_harmless(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.script(answer('{"items": ["a"]}'))
        upstream.script(error_reply(400, "no\x1b[2J"))
        env = calling(upstream) | {"DELTAWIRE_APP": str(shop(tmp_path)), "NO_COLOR": "1"}
        async with in_terminal("run", "extract_items", "x", env=env, cwd=tmp_path) as terminal:
            shown = await terminal.until(None)
        assert shown.startswith('{\n  "items": [\n    "a"\n  ],\n  "total": null\n}\nopenai:m · ')
        async with in_terminal("run", "extract_items", "x", env=env, cwd=tmp_path) as terminal:
            shown = await terminal.until(None)
        assert shown.startswith("deltawire: upstream_rejected: ")
        assert "\x1b" not in shown


async def test_what_comes_in_one_read_is_written_once(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.script(head(), together(text("a"), text("b"), finish(), done()))
        assert (await run(upstream, tmp_path, "chat", "Hi")).out == b"ab"


async def test_an_unreachable_provider_is_told_in_one_line(tmp_path: Path) -> None:
    with refused_port() as port:
        env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "DELTAWIRE_MODEL": "openai:m"}
        ended = await deltawire("run", "--app", str(shop(tmp_path)), "chat", "Hi", env=env, cwd=tmp_path)
    assert ended.code == 1
    assert ended.complaint.startswith("deltawire: upstream_unreachable: ")


async def test_the_local_model_answers_and_its_progress_is_told_beside(tmp_path: Path) -> None:
    ended = await deltawire("run", "--app", str(shop(tmp_path)), "chat", "Say hello", cwd=tmp_path)
    assert ended.code == 0
    assert ended.out
    first, second, last = ended.err.splitlines()
    assert first == "starting the local model smollm2 ..."
    assert second.startswith("local model smollm2 ready in ")
    assert last.startswith("local:smollm2 · ")
