"""What ``deltawire.testing`` promises the tests of others."""

import asyncio
import inspect
import textwrap
from collections.abc import Awaitable, Callable
from typing import cast

import pytest
from pydantic import BaseModel

import deltawire.testing
from deltawire import Message, Prompt, function
from deltawire.domain.errors import Reason, RunError
from deltawire.testing import Client, Finished, Started, Text

pytestmark = pytest.mark.anyio


class Items(BaseModel):
    items: list[str]


@function(output=Items)
def extract_items(passage: str) -> Prompt:
    return Prompt(system="List product names only.", user=passage)


@function
def chat(message: str, history: list[Message] = []) -> Prompt:  # noqa: B006
    return Prompt(messages=history, user=message)


async def test_the_example_of_the_module_runs() -> None:
    code = inspect.getdoc(deltawire.testing) or ""
    example = textwrap.dedent("\n".join(line for line in code.splitlines() if line.startswith("    ")))
    scope: dict[str, object] = {"Client": Client, "extract_items": extract_items}
    exec(f"async def example():\n{textwrap.indent(example, '    ')}", scope)
    await cast("Callable[[], Awaitable[None]]", scope["example"])()


async def test_a_client_takes_models_as_arguments_and_tells_events() -> None:
    async with Client([chat], "Hel", "lo") as client:
        history = [Message(role="user", content="a"), Message(role="assistant", content="b")]
        events = await client.events(chat, message="c", history=history)
        assert [type(event) for event in events] == [Started, Text, Text, Finished]
        assert [message.content for message in client.provider.attempts[0].messages] == ["a", "b", "c"]
        assert await client.run("chat", message="c") == "Hello"


async def test_a_failure_is_raised_as_callers_get_it() -> None:
    failure = RunError(Reason.upstream_rate_limited, "busy", retry_after=7)
    async with Client([chat], failure) as client:
        with pytest.raises(RunError, match="busy") as raised:
            await client.run(chat, message="hi")
        assert (raised.value.reason, raised.value.retry_after) == (Reason.upstream_rate_limited, 7)
        with pytest.raises(RunError, match=r"input\.message"):
            await client.run(chat)


async def test_leaving_a_stream_early_closes_the_attempt() -> None:
    async with Client([chat], "a", asyncio.Event()) as client:
        stream = client.stream(chat, message="hi")
        assert isinstance(await anext(stream), Started)
        await stream.aclose()
        assert client.provider.closed_early == 1
