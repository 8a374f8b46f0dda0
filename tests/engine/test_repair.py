"""The one more attempt for a typed answer that is not valid: asked for, counted, and only where nothing was seen."""

import asyncio
from collections.abc import AsyncGenerator

import msgspec
import pytest
from pydantic import BaseModel

from deltawire import Timeouts, function
from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error, FinishReason, Piece, Text, Usage
from deltawire.domain.ports import Attempt, Completion
from deltawire.providers.scripted import Scripted, Step
from tests.engine.stage import request, stage

pytestmark = pytest.mark.anyio

HI = request(words="hi")
GOOD, BAD = '{"count": 2}', '{"count": "two"}'


class Counted(BaseModel):
    count: int


@function(output=Counted, repair=True)
def count(words: str) -> str:
    return words


@function(output=Counted)
def once(words: str) -> str:
    return words


def used(read: int, written: int) -> Completion:
    return Completion(finish_reason=FinishReason.stop, usage=Usage(read, written))


async def test_an_answer_that_is_not_valid_is_asked_for_once_more_and_counted() -> None:
    async with stage([count]) as on:
        on.provider.say(BAD, used(5, 7))
        on.provider.say(GOOD, used(50, 3))
        finished = await on.finished("count", HI, whole=True)
        assert msgspec.json.decode(finished.output or b"") == {"count": 2}
        assert (finished.attempts, finished.usage) == (2, Usage(55, 10))
        [first, again] = on.provider.attempts
        assert again.messages[: len(first.messages)] == first.messages
        [said, told] = again.messages[len(first.messages) :]
        assert (said.role, said.content, told.role) == ("assistant", BAD, "user")
        assert "output.count: Input should be a valid integer" in told.content
        assert again.output is first.output


async def test_it_is_asked_for_only_once() -> None:
    async with stage([count], BAD) as on:
        error = await on.error("count", HI, whole=True)
        assert error.reason is Reason.output_invalid
        assert (len(on.provider.attempts), on.record.attempts) == (2, 2)


async def test_a_caller_who_streams_has_seen_the_first_answer() -> None:
    async with stage([count], BAD) as on:
        assert (await on.error("count", HI)).reason is Reason.output_invalid
        assert len(on.provider.attempts) == 1


async def test_nobody_pays_for_it_unasked() -> None:
    async with stage([once], BAD) as on:
        assert (await on.error("once", HI, whole=True)).reason is Reason.output_invalid
        assert len(on.provider.attempts) == 1


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (Completion(finish_reason=FinishReason.length), Reason.output_truncated),
        (Completion(finish_reason=FinishReason.refusal), Reason.refusal),
        (Completion(finish_reason=FinishReason.content_filter), Reason.content_filter),
        (RunError(Reason.upstream_truncated, "cut"), Reason.upstream_truncated),
    ],
)
async def test_what_is_no_mistake_in_the_answer_is_not_repaired(end: Step, reason: Reason) -> None:
    async with stage([count], BAD, end) as on:
        assert (await on.error("count", HI, whole=True)).reason is reason
        assert len(on.provider.attempts) == 1


async def test_a_failure_of_the_second_attempt_is_the_runs() -> None:
    async with stage([count]) as on:
        on.provider.say(BAD)
        on.provider.say(RunError(Reason.upstream_error, "down"))
        outcome = (await on.events("count", HI, whole=True))[-1]
        assert isinstance(outcome, Error)
        assert (outcome.reason, outcome.partial) == (Reason.upstream_error, True)


class _Slow(Scripted):
    """Needs most of the time that it has for its first words."""

    async def stream(self, attempt: Attempt) -> AsyncGenerator[Piece | Completion, None]:
        self.attempts.append(attempt)
        await asyncio.sleep(0.3)
        if len(self.attempts) > 1:
            yield Text(GOOD)
        yield Completion(finish_reason=FinishReason.stop)


@function(model="slow:m", output=Counted, repair=True, timeouts=Timeouts(first_token=0.5))
def unhurried(words: str) -> str:
    return words


async def test_an_answer_without_a_word_is_repaired_in_a_time_of_its_own_and_is_not_quoted() -> None:
    slow = _Slow()
    async with stage([unhurried], slow=slow) as on:
        finished = await on.finished("unhurried", HI, whole=True)
        assert msgspec.json.decode(finished.output or b"") == {"count": 2}
        assert [message.role for message in slow.attempts[1].messages] == ["user", "user"]
