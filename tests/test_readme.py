"""The README's own words, run as they stand."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from deltawire.bootstrap.load import load_functions
from deltawire.bootstrap.resolve import resolved
from deltawire.providers.openai.settings import OpenAISettings
from deltawire.settings import Settings
from tests.matrix.server import Server, clean_environment, serving

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    """The lines that a reader types."""
    return [line.removeprefix("$ ") for block in blocks("console") for line in block.splitlines() if line[:2] == "$ "]


def command(beginning: str) -> str:
    [found] = [typed for typed in commands() if typed.startswith(beginning)]
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a reader has saved the first function."""
    (tmp_path / "fruit.py").write_text(blocks("python")[0])
    return tmp_path


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """What ``make serve`` serves, with the local model."""
    with serving(tmp_path_factory.mktemp("shop"), {}, app=ROOT / "examples" / "shop.py") as server:
        yield server


def run(arguments: list[str], folder: Path) -> str:
    ended = subprocess.run(arguments, cwd=folder, env=clean_environment(), capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def deltawire(typed: str) -> list[str]:
    arguments = shlex.split(typed)
    assert arguments[0] == ".venv/bin/deltawire"
    return [sys.executable, "-m", "deltawire", *arguments[1:]]


def typed_curl(typed: str, server: Server, curl: str) -> list[str]:
    return [curl, "--silent", "--show-error", *shlex.split(typed.replace("localhost:8000", server.url))[1:]]


def test_every_command_of_the_readme_is_known_here() -> None:
    known = ("make serve", "curl -N", "curl localhost:8000/invoke", ".venv/bin/deltawire run", "export ")
    served = (".venv/bin/deltawire serve", "DELTAWIRE_MODEL=openai:gpt-4o-mini .venv/bin/deltawire serve fruit.py")
    azure = "DELTAWIRE_MODEL=azure:my-deployment .venv/bin/deltawire serve fruit.py"
    assert all(typed.startswith((*known, *served, azure)) for typed in commands())


def test_the_first_call_streams_a_real_models_answer(
    shop: Server, program: Callable[[str], str], tmp_path: Path
) -> None:
    reply = run(typed_curl(command("curl -N"), shop, program("curl")), tmp_path)
    names = re.findall(r"^event: (\w+)$", reply, re.MULTILINE)
    assert names[0] == "started"
    assert names[-1] == "finished"
    assert names.count("text") == len(names) - 2 > 1
    assert json.loads(reply.rpartition("data: ")[2])["usage"]["output_tokens"] > 1


@pytest.mark.parametrize(
    ("language", "interpreter", "before", "shown"),
    [("js", "node", "", "\n"), ("php", "php", "<?php\n", "red kettle")],
)
def test_the_clients_of_the_readme_read_a_real_models_answer(
    language: str,
    interpreter: str,
    before: str,
    shown: str,
    shop: Server,
    program: Callable[[str], str],
    tmp_path: Path,
) -> None:
    [client] = blocks(language)
    file = tmp_path / f"client.{'mjs' if language == 'js' else language}"
    file.write_text(before + client.replace("localhost:8000", shop.url.removeprefix("http://")))
    assert shown in run([program(interpreter), str(file)], tmp_path)


def test_invoke_answers_with_the_bare_output(shop: Server, program: Callable[[str], str], tmp_path: Path) -> None:
    output = json.loads(run(typed_curl(command("curl localhost:8000/invoke"), shop, program("curl")), tmp_path))
    assert list(output) == ["items"]
    assert all(isinstance(item, str) for item in output["items"])


def test_the_first_function_runs_in_the_terminal(folder: Path) -> None:
    output = json.loads(run(deltawire(command(".venv/bin/deltawire run")), folder))
    assert list(output) == ["fruits"]


def test_the_first_functions_test_passes(folder: Path) -> None:
    (folder / "test_fruit.py").write_text(blocks("python")[1])
    run([sys.executable, "test_fruit.py"], folder)


def test_the_example_of_a_configuration_is_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "deltawire.toml").write_text(blocks("toml")[0])
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DELTAWIRE_MODEL", raising=False)
    settings = Settings.load(app="fruit.py")
    [found] = resolved(load_functions("fruit.py"), settings).values()
    assert found.models == "openai:gpt-4o-mini"
    assert found.function.settings.timeouts.first_token == 20
    house = settings.providers["house"]
    assert isinstance(house, OpenAISettings)
    assert house.base_url == "http://10.0.0.5:8000/v1"


def test_the_variable_that_the_readme_names_goes_before_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "deltawire.toml").write_text(blocks("toml")[0])
    monkeypatch.chdir(folder)
    [variable] = re.findall(r"DELTAWIRE_FUNCTIONS__\w+", README)
    monkeypatch.setenv(variable, "house:other")
    [found] = resolved(load_functions("fruit.py"), Settings.load(app="fruit.py")).values()
    assert found.models == "house:other"


def test_every_file_that_the_readme_links_to_exists() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if not link.startswith("http")]
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_openais_client_prints_an_answer(shop: Server, tmp_path: Path) -> None:
    [code] = [block for block in blocks("python") if "from openai import" in block]
    (tmp_path / "ask.py").write_text(code.replace("http://localhost:8000", shop.url))
    assert run([sys.executable, "ask.py"], tmp_path).strip()
