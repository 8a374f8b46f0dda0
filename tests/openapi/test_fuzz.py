"""The whole document against the shipped server, as ``schemathesis`` reads it: requests that fit the schemas and such
that do not, replies that must be the documented ones. ``make fuzz`` plays more of it.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from deltawire.transports.http.openapi.samples import sample
from tests.matrix.provider import Provider
from tests.matrix.server import serving
from tests.upstream import Request, Step, done, finish, head, text, usage

pytestmark = pytest.mark.anyio

APP = Path(__file__).parent / "app.py"
FEW = 5
EXAMPLES = int(os.environ.get("DELTAWIRE_TEST_FUZZ", FEW))
SEED = ("--seed", "1") if EXAMPLES == FEW else ()
"""The short form is the same each time."""
CONFIGURATION = """
# A caller may allow a run less time than anything takes: that limit's status is one of ours.
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "504"]
"""


def answer(request: Request) -> Sequence[Step]:
    """What a model says that does as it is told."""
    wanted = request.json.get("response_format")
    said = "Hello" if wanted is None else msgspec.json.encode(sample(wanted["json_schema"]["schema"])).decode()
    return head(), text(said), finish("stop"), usage(9, 2), done()


async def test_schemathesis_finds_nothing(provider: Provider, environment: dict[str, str], tmp_path: Path) -> None:
    await provider.begin()
    provider.answer_with(answer)
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    with serving(tmp_path, environment, app=APP) as server:
        code, said = await schemathesis(f"{server.url}/openapi.json", tmp_path)
        assert code == 0, said
        assert " failed" not in said
        server.runs_logged()  # no traceback is in the log


async def schemathesis(url: str, folder: Path) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "run", url, "--checks", "all", "--continue-on-failure"),
        *("--max-examples", str(EXAMPLES), *SEED, "--generation-database", "none", "--no-color"),
        *("--request-timeout", "10"),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, said.decode()
