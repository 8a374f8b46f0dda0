"""The examples of ``docs/testing.md``, run as they stand."""

import ast
import inspect
import re
import sys
from collections.abc import Coroutine, Generator
from pathlib import Path
from types import CodeType

import pytest

pytestmark = pytest.mark.anyio

PAGE = (Path(__file__).parent.parent / "docs" / "testing.md").read_text()
_BLOCK = re.compile(r"^```python( [^\n]+)?\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILES = {words.strip(): code for words, code in _BLOCK.findall(PAGE) if words}
EXAMPLES = [code for words, code in _BLOCK.findall(PAGE) if not words]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """Where a reader has saved the files, and stands."""
    for name, code in FILES.items():
        (tmp_path / name).write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setenv("DELTAWIRE_MODEL", "openai:m")
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    yield tmp_path
    sys.modules.pop("shop", None)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("example", EXAMPLES, ids=[str(number) for number in range(len(EXAMPLES))])
async def test_the_example_runs(example: str) -> None:
    code = compile(example, "docs/testing.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    await evaluated(code)


async def evaluated(code: CodeType) -> None:
    result: Coroutine[object, object, None] | None = eval(code, {"__name__": "example"})
    if inspect.iscoroutine(result):
        await result


def test_the_page_has_its_file_and_examples() -> None:
    assert list(FILES) == ["shop.py"]
    assert len(EXAMPLES) >= 6
