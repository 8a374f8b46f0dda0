"""``deltawire list``, ``--help`` and ``--version``: no key is needed, nothing is started, nothing heavy imported."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.apps import shop
from tests.cli.command import deltawire, environment, in_terminal

pytestmark = pytest.mark.anyio

NO_KEY = {"DELTAWIRE_MODEL": "openai:m", "DELTAWIRE_FUNCTIONS__EXTRACT_ITEMS__MODEL": "local:smollm2"}


async def test_in_a_pipe_each_function_has_one_line(tmp_path: Path) -> None:
    ended = await deltawire("list", str(shop(tmp_path)), env=NO_KEY, cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    header, _, chat, items, *_ = ended.out.decode().splitlines()
    assert header.split() == ["function", "output", "model", "description"]
    columns = [column.strip() for column in chat.split("   ") if column]
    assert columns == [
        "chat(message: str, history: list[Message] = [])",
        "str",
        "openai:m",
        "Answer a customer.",
    ]
    assert "local:smollm2" in items


async def test_on_a_terminal_no_line_is_longer_than_its_80_columns(tmp_path: Path) -> None:
    env = NO_KEY | {"NO_COLOR": "1", "TERM": "dumb"}
    async with in_terminal("list", str(shop(tmp_path)), env=env, cwd=tmp_path) as terminal:
        shown = await terminal.until(None)
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "Extract the products." in shown


async def test_as_json_it_carries_the_schemas(tmp_path: Path) -> None:
    ended = await deltawire("list", "--json", str(shop(tmp_path)), env=NO_KEY, cwd=tmp_path)
    [chat, items, *_] = json.loads(ended.out)["functions"]
    assert (chat["name"], chat["output"]) == ("chat", {"type": "string"})
    assert chat["variants"] == [{"variant": None, "weight": 1.0, "models": ["openai:m"]}]
    assert chat["input"]["required"] == ["message"]
    assert items["output"]["properties"].keys() == {"items", "total"}


async def test_no_app_is_an_error(tmp_path: Path) -> None:
    ended = await deltawire("list", cwd=tmp_path)
    assert ended.code == 2
    assert ended.complaint.startswith("deltawire: which functions? Name their file: deltawire list shop.py, or set ")


async def test_help_shows_the_commands_and_so_does_saying_nothing(tmp_path: Path) -> None:
    asked, bare = await deltawire("--help", cwd=tmp_path), await deltawire(cwd=tmp_path)
    assert asked.code == bare.code == 0
    for command in ("serve", "run", "list", "doctor", "local"):
        assert command in asked.out.decode()
        assert command in bare.out.decode()


async def test_version_is_one_line(tmp_path: Path) -> None:
    ended = await deltawire("--version", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(b"deltawire ")
    assert ended.out.count(b"\n") == 1


async def test_an_unknown_command_is_one_line(tmp_path: Path) -> None:
    ended = await deltawire("serv", cwd=tmp_path)
    assert (ended.code, ended.complaint) == (2, "deltawire: No such command 'serv'. Did you mean 'serve'?")


async def test_the_local_model_has_a_command_that_installs_it(tmp_path: Path) -> None:
    ended = await deltawire("local", "--help", cwd=tmp_path)
    assert ended.code == 0
    assert "install" in ended.out.decode()


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, deltawire.cli.main; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    loaded = set(ended.stdout.split())
    assert not loaded & {"asyncio", "httptools", "pydantic", "msgspec", "starlette", "uvicorn", "watchfiles"}


async def test_a_group_of_commands_without_one_shows_its_help(tmp_path: Path) -> None:
    ended = await deltawire("local", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert "Install the local model into this Python environment." in ended.out.decode()
