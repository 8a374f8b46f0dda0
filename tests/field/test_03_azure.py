"""What Azure OpenAI does that others do not."""

import re
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise

import pytest

from deltawire.domain.errors import DeclarationError, Reason
from deltawire.providers.azure.endpoint import endpoint
from tests.field.conftest import APP
from tests.field.outcomes import assert_failed, everywhere, finish_reason, on_all_at_once, told
from tests.matrix.answers import answer
from tests.matrix.notation import Call
from tests.matrix.reply import Reply
from tests.matrix.stage import Matrix, in_process
from tests.matrix.transports import CHAT, GRPC, RPC, TRANSPORTS
from tests.upstream import Step, done, error_reply, event, finish, head, reply, text, usage
from tests.upstream.azure import no_deployment

pytestmark = pytest.mark.anyio

every_transport = pytest.mark.parametrize("transport", TRANSPORTS)
both_forms = everywhere("function", ["ask"], ["ask_v1"])
ASK = Call("ask")
END = (finish("stop"), usage(9, 2), done())
GOOD = (head(), text("Hel"), text("lo"), *END)


# AZ-01: a first chunk without choices


@both_forms
async def test_az_01_a_first_chunk_without_choices_changes_nothing(
    field: Matrix, transport: str, function: str
) -> None:
    results: list[dict[str, object]] = [{"prompt_index": 0, "content_filter_results": {}}]
    first = event({"id": "", "model": "", "choices": [], "prompt_filter_results": results})
    replied, line = await told(field, transport, head(), first, text("Hel"), text("lo"), *END, call=Call(function))
    assert answer(transport, replied) == "Hello"
    assert (line["outcome"], line["model"]) == ("stop", "azure:d1" if function == "ask" else "azure-v1:d1")


# AZ-03: how long to wait


async def played(field: Matrix, *scripts: tuple[Step, ...]) -> tuple[dict[str, Reply], dict[str, list[float]]]:
    """What came on each transport, and the gaps between its requests to the provider, which gets these replies."""
    queues: dict[str, Iterator[tuple[Step, ...]]] = defaultdict(lambda: iter(scripts))
    replies = await on_all_at_once(field, lambda transport: next(queues[transport]), "ask")
    asked: dict[str, list[float]] = defaultdict(list)
    for exchange in field.provider.exchanges:
        asked[exchange.request.json["messages"][-1]["content"]].append(exchange.arrived_at)
    return replies, {
        transport: [after - before for before, after in pairwise(times)] for transport, times in asked.items()
    }


def busy(headers: dict[str, str]) -> tuple[Step, ...]:
    return (error_reply(429, "slow down", code="429", headers=headers),)


async def test_az_03_a_wait_in_milliseconds_is_kept_before_each_attempt(field: Matrix) -> None:
    later = busy({"retry-after-ms": "300", "retry-after": "1"})
    replies, gaps = await played(field, later, later, GOOD)
    for transport, replied in replies.items():
        assert answer(transport, replied) == "Hello"
        assert len(gaps[transport]) == 2
        assert 0.3 <= min(gaps[transport]) < 1.0


async def test_az_03_a_wait_in_seconds_is_kept(field: Matrix) -> None:
    replies, gaps = await played(field, busy({"retry-after": "2"}), GOOD)
    for transport, replied in replies.items():
        assert answer(transport, replied) == "Hello"
        [gap] = gaps[transport]
        assert gap >= 2.0


async def test_az_03_a_date_is_a_wait_until_then(field: Matrix) -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=3), usegmt=True)  # cut to whole seconds
    replies, gaps = await played(field, busy({"retry-after": until}), GOOD)
    for transport, replied in replies.items():
        assert answer(transport, replied) == "Hello"
        [gap] = gaps[transport]
        assert 1.0 < gap < 4.0


def in_an_hour() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)


@pytest.mark.parametrize("kind", ["seconds", "date"])
async def test_az_03_a_wait_that_outlasts_the_call_is_passed_on_at_once(field: Matrix, kind: str) -> None:
    said, least, most = ("86400", 86400, 86400) if kind == "seconds" else (in_an_hour(), 3580, 3600)
    began = time.monotonic()
    replies, gaps = await played(field, busy({"retry-after": said}))
    assert time.monotonic() - began < 5.0
    for transport, replied in replies.items():
        assert_failed(transport, replied, Reason.upstream_rate_limited, partial=False)
        assert gaps[transport] == []
        assert least <= hint(transport, replied) <= most


def hint(transport: str, replied: Reply) -> float:
    """How long the caller is told to wait: in the body or the details, and over HTTP in the header."""
    pattern = r'"retryDelay":"([\d.]+)s"' if transport in RPC else r'"retry_after":([\d.]+)'
    [seconds] = re.findall(pattern, replied.written())
    if transport not in (*RPC, "ws", "engine"):
        [header] = re.findall(r"^retry-after: (\d+)$", replied.head, re.MULTILINE)
        assert 0 <= int(header) - float(seconds) < 1
    if transport in GRPC:
        assert "grpc-status: 8" in replied.written()
    return float(seconds)


# AZ-04: filters

FILTERED = (
    b'{"error":{"code":"content_filter","param":"prompt",'
    b'"innererror":{"content_filter_result":{"violence":{"filtered":true}}}}}'
)


@both_forms
async def test_az_04_a_filtered_prompt_tells_its_category_and_is_asked_once(
    field: Matrix, transport: str, function: str
) -> None:
    replied, line = await told(field, transport, reply(400, FILTERED), call=Call(function))
    assert_failed(transport, replied, Reason.content_filter, partial=False)
    assert "violence" in replied.written()
    assert (line["attempts"], len(field.provider.requests)) == (1, 1)


@every_transport
async def test_az_04_an_answer_that_is_filtered_says_so_at_its_end(field: Matrix, transport: str) -> None:
    steps = (head(), text("a"), text("b"), text("c"), finish("content_filter"), done())
    replied, line = await told(field, transport, *steps, call=ASK)
    assert line["outcome"] == "content_filter"
    if transport == "invoke":  # takes a `stop` only
        assert_failed(transport, replied, Reason.content_filter, partial=True)
        return
    assert answer(transport, replied) == "abc"
    if transport != "text":
        assert finish_reason(transport, replied) == "content_filter"


@every_transport
async def test_az_04_a_typed_answer_that_is_filtered_is_no_result(field: Matrix, transport: str) -> None:
    steps = (head(), text('{"note"'), text(': "a"'), text("}"), finish("content_filter"), done())
    replied, line = await told(field, transport, *steps, call=Call("filtered_note"))
    assert_failed(transport, replied, Reason.content_filter, partial=True, sent=transport not in CHAT)
    assert (line["attempts"], len(field.provider.requests)) == (1, 1)


# AZ-06: endpoints and deployments

BASES = [
    "https://r.test",
    "https://r.test/",
    "https://r.test/openai",
    "https://r.test/openai/v1",
    "https://r.test/openai/deployments/d1",
]
VERSION = "2024-10-21"
CLASSIC = f"https://r.test/openai/deployments/d1/chat/completions?api-version={VERSION}"
V1 = "https://r.test/openai/v1/chat/completions"


@pytest.mark.parametrize("api_version", [VERSION, None])
@pytest.mark.parametrize("base", BASES)
def test_az_06_a_base_means_one_url_or_an_error_that_names_it(base: str, api_version: str | None) -> None:
    if (base.endswith("/v1") and api_version) or ("/deployments/" in base and not api_version):
        with pytest.raises(DeclarationError, match=re.escape(base)):
            endpoint("azure", base, api_version)
        return
    place = endpoint("azure", base, api_version)
    assert place.base_url + place.path("d1") == (CLASSIC if api_version else V1)


def test_az_06_a_models_date_is_no_version_of_the_api() -> None:
    with pytest.raises(DeclarationError, match="2024-07-18"):
        endpoint("azure", BASES[0], "2024-07-18")


async def test_az_06_a_bad_endpoint_is_found_at_the_start(field: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTAWIRE_PROVIDERS__AZURE__ENDPOINT", "https://r.test/openai/v1")
    with pytest.raises(DeclarationError, match=re.escape("https://r.test/openai/v1")):
        in_process(APP)
    assert field.provider.requests == []


@both_forms
async def test_az_06_the_deployment_is_asked_under_its_one_url(field: Matrix, transport: str, function: str) -> None:
    path = (CLASSIC if function == "ask" else V1).removeprefix("https://r.test")
    replied, _ = await told(field, transport, *GOOD, call=Call(function))
    assert answer(transport, replied) == "Hello"
    [request] = field.provider.requests
    assert (request.path, request.json["model"]) == (path, "d1")


@both_forms
async def test_az_06_a_deployment_that_is_not_there_is_named(field: Matrix, transport: str, function: str) -> None:
    replied, line = await told(field, transport, no_deployment(), call=Call(function))
    assert_failed(transport, replied, Reason.upstream_rejected, partial=False)
    assert line["message"].endswith("is followed by the name of a deployment, and it has none called 'd1'")
    assert "none called 'd1'" in replied.written()
