"""Azure against an upstream of its shape, in both forms of its URLs."""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from deltawire.domain.errors import DeclarationError, Reason
from deltawire.domain.events import FinishReason, Usage
from deltawire.domain.ports import Provider
from deltawire.providers import registry
from deltawire.providers.azure.settings import AzureSettings
from deltawire.secrets import Secrets
from tests.providers.asking import ITEM, KEY, Heard, ask
from tests.upstream import Step, Upstream, answer, done, error_event, error_reply, finish, head, text, usage
from tests.upstream.azure import (
    SAFE,
    annotated_text,
    annotation,
    filter_failure,
    filtered_prompt,
    no_deployment,
    prompt_results,
)

pytestmark = pytest.mark.anyio

FORMS = {"classic": "2024-10-21", "v1": None}
BOTH = pytest.mark.parametrize("api_version", FORMS.values(), ids=FORMS)


def read(written: str, setting: str, /, *, anew: bool = False) -> str:
    return Secrets().read(written, f"the {setting}", anew=anew)


@asynccontextmanager
async def azure_at(upstream: Upstream, api_version: str | None = None, **settings: object) -> AsyncGenerator[Provider]:
    said = {"endpoint": upstream.base_url.removesuffix("/v1"), "api_version": api_version, "api_key": KEY, **settings}
    entry = AzureSettings.model_validate(said)
    provider = registry.azure("azure", entry, read)
    try:
        yield provider
    finally:
        await provider.close()


async def heard_from(api_version: str | None, *steps: Step, **settings: object) -> Heard:
    async with Upstream() as upstream, azure_at(upstream, api_version, **settings) as provider:
        upstream.script(*steps)
        return await ask(provider)


@pytest.mark.parametrize(
    ("api_version", "path"),
    [
        ("2024-10-21", "/openai/deployments/m/chat/completions?api-version=2024-10-21"),
        (None, "/openai/v1/chat/completions"),
        ("preview", "/openai/v1/chat/completions?api-version=preview"),
    ],
)
async def test_a_request_has_azures_url_and_key(api_version: str | None, path: str) -> None:
    async with Upstream() as upstream, azure_at(upstream, api_version) as provider:
        upstream.script(answer("a"))
        assert (await ask(provider)).text == "a"
        [request] = upstream.requests
        assert (request.method, request.path, request.json["model"]) == ("POST", path, "m")
        assert (request.headers["api-key"], "authorization" in request.headers) == (KEY, False)


@BOTH
async def test_az_01_a_first_chunk_without_choices_is_no_content(api_version: str | None) -> None:
    heard = await heard_from(api_version, head(), prompt_results(), text("a"), text("b"), finish(), usage(9, 2), done())
    assert (heard.text, heard.completed.finish_reason, heard.completed.usage) == ("ab", FinishReason.stop, Usage(9, 2))


@BOTH
async def test_annotations_beside_after_and_without_text_change_nothing(api_version: str | None) -> None:
    heard = await heard_from(
        api_version,
        *(head(), prompt_results(), annotated_text("a"), annotation(), filter_failure("b"), annotation()),
        *(finish(), annotation(), usage(9, 2), annotation(), done()),
    )
    assert (heard.text, heard.completed.finish_reason, heard.completed.usage) == ("ab", FinishReason.stop, Usage(9, 2))


@BOTH
async def test_az_04_an_answer_that_is_filtered_late_ends_as_filtered(api_version: str | None) -> None:
    protected = {"detected": True, "filtered": True}
    late = annotation(finish_reason="content_filter", protected_material_text=protected)
    heard = await heard_from(api_version, head(), prompt_results(), text("Hey"), annotation(), late, done())
    assert (heard.text, heard.completed.finish_reason) == ("Hey", FinishReason.content_filter)


@BOTH
async def test_az_04_a_filtered_prompt_tells_its_categories_and_is_not_sent_again(api_version: str | None) -> None:
    failure = (await heard_from(api_version, filtered_prompt("violence", "hate"))).failure
    assert (failure.reason, failure.retry_safe) == (Reason.content_filter, False)
    assert failure.message.endswith("400 Bad Request: The response was filtered (hate, violence)")


async def test_az_04_the_spelling_that_azure_documents_tells_its_categories_too() -> None:
    inner = {"content_filter_results": {**SAFE, "jailbreak": {"filtered": True, "detected": True}}}
    failure = (await heard_from(None, error_reply(400, "no", code="content_filter", inner_error=inner))).failure
    assert failure.message.endswith("no (jailbreak)")


async def test_a_filter_error_inside_of_a_stream_is_the_filter() -> None:
    steps = (head(), prompt_results(), text("a"), error_event("filtered", code="content_filter"))
    heard = await heard_from("2024-10-21", *steps)
    assert (heard.text, heard.failure.reason) == ("a", Reason.content_filter)


async def test_az_03_what_azure_asks_to_wait_is_told_in_seconds() -> None:
    refusal = error_reply(429, "slow down", code="429", headers={"retry-after-ms": "300", "retry-after": "1"})
    failure = (await heard_from(None, refusal)).failure
    assert (failure.reason, failure.retry_after) == (Reason.upstream_rate_limited, 0.3)
    assert failure.retry_safe


@BOTH
async def test_az_06_a_deployment_that_does_not_exist_is_named(api_version: str | None) -> None:
    failure = (await heard_from(api_version, no_deployment())).failure
    assert failure.reason is Reason.upstream_rejected
    assert failure.message == (
        "the provider 'azure' answered 404 Not Found: The API deployment for this resource does not exist; "
        "'azure:' is followed by the name of a deployment, and it has none called 'm'"
    )


async def test_a_pasted_deployment_that_is_not_the_one_asked_for_is_told() -> None:
    async with Upstream() as upstream:
        pasted = f"{upstream.base_url.removesuffix('/v1')}/openai/deployments/d1"
        async with azure_at(upstream, "2024-10-21", endpoint=pasted) as provider:
            upstream.script(no_deployment())
            assert (await ask(provider)).failure.message.endswith("'m'; its endpoint was written with 'd1'")


async def test_any_other_404_names_the_settings_to_look_at() -> None:
    failure = (await heard_from("2024-10-21", error_reply(404, "Resource not found", code="404"))).failure
    assert failure.message.endswith(": Resource not found; check the endpoint and the api_version of 'azure'")


@pytest.mark.parametrize(
    ("api_version", "limit", "counted", "schema"),
    [
        (None, "max_completion_tokens", True, "json_schema"),
        ("preview", "max_completion_tokens", True, "json_schema"),
        ("2025-01-01-preview", "max_completion_tokens", True, "json_schema"),
        ("2024-10-21", "max_completion_tokens", True, "json_schema"),
        ("2024-09-01-preview", "max_completion_tokens", True, "json_schema"),
        ("2024-08-01-preview", "max_tokens", False, "json_schema"),
        ("2024-06-01", "max_tokens", False, "json_object"),
        ("2023-12-01-preview", "max_tokens", False, "json_object"),
        ("2023-05-15", "max_tokens", False, None),
    ],
)
async def test_a_version_gets_only_fields_that_it_knows(
    api_version: str | None, limit: str, counted: bool, schema: str | None
) -> None:
    async with Upstream() as upstream, azure_at(upstream, api_version) as provider:
        upstream.script(answer('{"name": "a"}'))
        await ask(provider, output=ITEM, max_tokens=5)
        body = upstream.requests[0].json
    assert body[limit] == 5
    assert len(body.keys() & {"max_tokens", "max_completion_tokens"}) == 1
    assert ("stream_options" in body) == counted
    assert body.get("response_format", {}).get("type") == schema


async def test_what_is_set_goes_before_what_the_version_knows() -> None:
    settings = {"max_tokens_field": "max_tokens", "structured_output": "none"}
    async with Upstream() as upstream, azure_at(upstream, **settings) as provider:
        upstream.script(answer("a"))
        await ask(provider, output=ITEM, max_tokens=5)
        body = upstream.requests[0].json
    assert (body["max_tokens"], "response_format" in body) == (5, False)


async def test_a_strict_schema_has_no_lengths() -> None:
    async with Upstream() as upstream, azure_at(upstream) as provider:
        upstream.script(answer("{}"))
        await ask(provider, output=ITEM)
        assert "Length" not in json.dumps(upstream.requests[0].json["response_format"])


async def test_a_token_is_read_anew_for_each_attempt(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    async with Upstream() as upstream, azure_at(upstream, api_key=None, token=f"file:{file}") as provider:
        upstream.always(answer("a"))
        await ask(provider)
        file.write_text("second\n")
        await ask(provider)
        sent = [request.headers["authorization"] for request in upstream.requests]
        assert sent == ["Bearer first", "Bearer second"]
        assert "api-key" not in upstream.requests[0].headers


async def test_a_token_that_was_rotated_is_in_no_message(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    async with Upstream() as upstream, azure_at(upstream, api_key=None, token=f"file:{file}") as provider:
        file.write_text("very-secret-second")
        upstream.script(error_reply(400, "the token very-secret-second is odd"))
        assert (await ask(provider)).failure.message.endswith("the token … is odd")


async def test_a_token_that_is_gone_fails_the_attempt_and_tells_the_caller_no_path(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    async with Upstream() as upstream, azure_at(upstream, api_key=None, token=f"file:{file}") as provider:
        file.unlink()
        failure = (await ask(provider)).failure
        assert (failure.reason, failure.retry_safe, upstream.requests) == (Reason.upstream_auth, False, [])
        assert str(file) not in failure.message
        assert str(file) in caplog.text


async def test_a_token_that_is_not_there_at_the_start_is_an_error() -> None:
    with pytest.raises(DeclarationError, match="the token is in the environment variable NO_TOKEN"):
        async with Upstream() as upstream, azure_at(upstream, api_key=None, token="env:NO_TOKEN"):
            pass


async def test_a_refused_token_says_which_setting_to_check(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first")
    said = {"api_key": None, "token": f"file:{tmp_path / 'token'}"}
    failure = (await heard_from(None, error_reply(401, "no"), **said)).failure
    assert failure.message.startswith(
        "the provider 'azure' answered 401 Unauthorized: it does not accept our credentials; "
        "check the token of 'azure', its role,"
    )


async def test_an_identity_of_the_machine_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity.aio", None)  # as if it were not installed
    with pytest.raises(DeclarationError, match=r"needs azure-identity: pip install 'deltawire\[azure\]'"):
        async with Upstream() as upstream, azure_at(upstream, api_key=None, credential="default"):
            pass


class NobodyIsLoggedInError(Exception):
    """Stands for ``azure.core.exceptions.AzureError``."""


@dataclass
class Identity:
    """Stands for ``DefaultAzureCredential``: has one token, and after it none."""

    asked: list[str] = field(default_factory=list[str])
    closed: bool = False

    async def get_token(self, scope: str) -> SimpleNamespace:
        self.asked.append(scope)
        if len(self.asked) > 1:
            raise NobodyIsLoggedInError("nobody is logged in on 10.0.0.1")
        return SimpleNamespace(token="from-identity", expires_on=0)

    async def close(self) -> None:
        self.closed = True


async def test_an_identity_is_asked_for_each_attempt_and_closed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    identity = Identity()
    package = {
        "azure.identity.aio": {"DefaultAzureCredential": lambda: identity},
        "azure.core.exceptions": {"AzureError": NobodyIsLoggedInError},
    }
    for name, contents in package.items():
        module = ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    async with Upstream() as upstream:
        upstream.script(answer("a"))
        async with azure_at(upstream, api_key=None, credential="default") as provider:
            assert (await ask(provider)).text == "a"
            assert upstream.requests[0].headers["authorization"] == "Bearer from-identity"
            failure = (await ask(provider)).failure
    assert (failure.reason, "10.0.0.1" in failure.message) == (Reason.upstream_auth, False)
    assert "nobody is logged in on 10.0.0.1" in caplog.text
    assert identity == Identity(asked=["https://cognitiveservices.azure.com/.default"] * 2, closed=True)


async def test_a_gateway_may_know_us_by_a_header_alone() -> None:
    async with Upstream() as upstream, azure_at(upstream, api_key=None, headers={"x-team": "a"}) as provider:
        upstream.script(answer("a"))
        await ask(provider)
        assert upstream.requests[0].headers["x-team"] == "a"
        assert not upstream.requests[0].headers.keys() & {"api-key", "authorization"}
